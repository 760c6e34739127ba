"""ResNet-18 (He et al., 2015) on 3×64×64 images. Runs inside the servers and in the in-process reference.

Input: float32 (B, 12288), an image's planes one after the other, pixels 0 to 1. Output: float32 (B, 1000), logits.

The network is the standard one, layer for layer and name for name that of torchvision, which the servers do not
have. Nobody trained it: its weights are random, its answers mean nothing, and they are there to be compared with
those that the same weights give in process.
"""

import torch
import torch_model
from torch import nn

CHANNELS, SIDE, CLASSES = 3, 64, 1000
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Convolution(nn.Conv2d):
    """A convolution that oneDNN computes, whatever the batch size.

    Left to itself, PyTorch on a CPU sends a batch of one down another code path where the kernel is 3×3 or smaller and
    the input has no more than 20,480 numbers. That is all but the first convolution here, and none on the standard
    224×224 images. One image then takes 17 ms, two take 13 and three 16, and T(B) is no line. Computed as a larger
    batch always is, one image takes 10 ms.
    """

    def forward(self, x):
        if x.is_cuda:
            return super().forward(x)
        return torch.mkldnn_convolution(
            x, self.weight, self.bias, self.padding, self.stride, self.dilation, self.groups
        )


class Block(nn.Module):
    """Two 3×3 convolutions beside a shortcut, which is a 1×1 convolution where the shape changes."""

    def __init__(self, inward, outward, stride):
        super().__init__()
        self.conv1 = Convolution(inward, outward, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outward)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = Convolution(outward, outward, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outward)
        self.downsample = None
        if stride != 1 or inward != outward:
            self.downsample = nn.Sequential(
                Convolution(inward, outward, 1, stride, bias=False), nn.BatchNorm2d(outward)
            )

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        inner = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(inner)) + shortcut)


class ResNet18(nn.Module):
    """A 7×7 stem, four stages of two blocks, the average of what is left, one linear layer: 11,689,512 parameters."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor(MEAN).view(-1, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(-1, 1, 1), persistent=False)
        self.conv1 = Convolution(CHANNELS, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = nn.Sequential(Block(64, 64, 1), Block(64, 64, 1))
        self.layer2 = nn.Sequential(Block(64, 128, 2), Block(128, 128, 1))
        self.layer3 = nn.Sequential(Block(128, 256, 2), Block(256, 256, 1))
        self.layer4 = nn.Sequential(Block(256, 512, 2), Block(512, 512, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, CLASSES)

    def forward(self, pixels):
        x = (pixels.view(-1, CHANNELS, SIDE, SIDE) - self.mean) / self.deviation
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def load(folder):
    """The callable model from its artifact folder, see torch_model."""
    return torch_model.load(folder, ResNet18())
