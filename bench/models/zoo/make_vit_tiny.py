"""Makes vit-tiny's weights. Run by the servers' Python: make_vit_tiny.py ZOO_FOLDER WEIGHTS.pt

One seed, one thread: the same weights each time on the same machine. Drawn as the paper's are before training, by a
normal distribution of 0.02, the head's by one that gives logits of the order of 1.
"""

import sys

import torch
from torch import nn

SEED, SPREAD = 0, 0.02


def main(zoo, weights_file):
    sys.path.insert(0, zoo)
    import vit_tiny

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    network = vit_tiny.VitTiny()
    for parameter in network.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=SPREAD)
    nn.init.normal_(network.head.weight, std=vit_tiny.WIDTH**-0.5)
    torch.save(network.state_dict(), weights_file)


if __name__ == "__main__":
    main(*sys.argv[1:])
