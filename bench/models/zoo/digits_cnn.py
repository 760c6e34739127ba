"""A small CNN on 8×8 handwritten digits. Runs inside the servers, in training and in the in-process reference.

Input: float32 (B, 64), pixels 0 to 16. Output: float32 (B, 10), logits.
"""

import torch_model
from torch import nn


def build():
    """The untrained network.

    Kernels are 5×5 on purpose: for a batch of one, PyTorch on a CPU sends 3×3 convolutions down another code
    path than for larger batches, and T(B) then has a step of half its height between B=1 and B=2.
    """
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 48, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(48, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 5, padding=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def load(folder):
    """The callable model from its artifact folder, see torch_model."""
    return torch_model.load(folder, build())
