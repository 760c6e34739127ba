"""Makes resnet18's weights. Run by the servers' Python: make_resnet18.py ZOO_FOLDER WEIGHTS.pt

One seed, one thread: the same weights each time on the same machine. Convolutions are drawn as He et al. do, and each
normalisation gets the mean and variance that images of noise have there, as training would leave it: with 0 and 1 in
their place the signal grows from block to block, and the logits are far from the order of 1 that tolerances are for.
"""

import sys

import torch
from torch import nn

IMAGES, SEED = 128, 0


def main(zoo, weights_file):
    sys.path.insert(0, zoo)
    import resnet18

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    network = resnet18.ResNet18()
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the statistics of all that it sees, not of the latest most
    with torch.no_grad():
        network.train()(torch.rand(IMAGES, resnet18.CHANNELS * resnet18.SIDE**2))
    torch.save(network.state_dict(), weights_file)


if __name__ == "__main__":
    main(*sys.argv[1:])
