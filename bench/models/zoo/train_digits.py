"""Trains digits-cnn. Run by the servers' Python: train_digits.py ZOO_FOLDER DATA.npz WEIGHTS.pt

One thread, one seed, deterministic algorithms: the same weights each time on the same machine.
"""

import sys

import numpy as np
import torch
from torch import nn

EPOCHS, BATCH, SEED = 8, 64, 1


def main(zoo, data_file, weights_file):
    sys.path.insert(0, zoo)
    import digits_cnn

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    data = np.load(data_file)
    pixels, labels = torch.from_numpy(data["pixels"]), torch.from_numpy(data["labels"])
    network = digits_cnn.build()
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=4e-3, total_steps=EPOCHS * -(-len(pixels) // BATCH)
    )
    for epoch in range(EPOCHS):
        for rows in torch.randperm(len(pixels)).split(BATCH):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(pixels[rows]), labels[rows]).backward()
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1}/{EPOCHS}", flush=True)
    torch.save(network.state_dict(), weights_file)


if __name__ == "__main__":
    main(*sys.argv[1:])
