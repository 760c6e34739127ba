"""ViT-Tiny (Dosovitskiy et al., 2020; Touvron et al., 2021) on 3×64×64 images in patches of 8×8: a transformer encoder
of 12 layers, 3 heads and a width of 192 over 65 tokens. Runs inside the servers and in the in-process reference.

Input: float32 (B, 12288), an image's planes one after the other, pixels 0 to 1. Output: float32 (B, 1000), logits.
Nobody trained it: its weights are random, its answers mean nothing, and are there to be compared.
"""

import torch
import torch_model
from torch import nn

CHANNELS, SIDE, PATCH, CLASSES = 3, 64, 8, 1000
WIDTH, HEADS, LAYERS = 192, 3, 12
TOKENS = (SIDE // PATCH) ** 2


class VitTiny(nn.Module):
    """Patches to tokens, a class token before them, positions added, the encoder, a linear layer on the class token."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(CHANNELS, WIDTH, PATCH, stride=PATCH)
        self.class_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.zeros(1, TOKENS + 1, WIDTH))
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, pixels):
        images = pixels.view(-1, CHANNELS, SIDE, SIDE)
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_token.expand(len(tokens), -1, -1), tokens], dim=1)
        return self.head(self.encoder(tokens + self.positions)[:, 0])


def load(folder):
    """The callable model from its artifact folder, see torch_model."""
    return torch_model.load(folder, VitTiny())
