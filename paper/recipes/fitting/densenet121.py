"""DenseNet-121 with the public key names (``features.denseblock1.denselayer1.norm1.weight``), as CheXNet has."""

import torch
from torch import Tensor, nn

BLOCKS = (6, 12, 24, 16)
GROWTH = 32


class DenseLayer(nn.Sequential):
    """Adds ``GROWTH`` new features to all earlier ones."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(width)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(width, 4 * GROWTH, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * GROWTH)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(4 * GROWTH, GROWTH, 3, padding=1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """The old features followed by the new ones."""
        return torch.cat([features, super().forward(features)], dim=1)


def _transition(width: int) -> nn.Sequential:
    """Half the features at half the resolution."""
    layers = nn.Sequential()
    layers.add_module("norm", nn.BatchNorm2d(width))
    layers.add_module("relu", nn.ReLU(inplace=True))
    layers.add_module("conv", nn.Conv2d(width, width // 2, 1, bias=False))
    layers.add_module("pool", nn.AvgPool2d(2))
    return layers


class DenseNet121(nn.Sequential):
    """Huang et al., 2017."""

    HEAD = "classifier"

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential()
        self.features.add_module("conv0", nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False))
        self.features.add_module("norm0", nn.BatchNorm2d(64))
        self.features.add_module("relu0", nn.ReLU(inplace=True))
        self.features.add_module("pool0", nn.MaxPool2d(3, stride=2, padding=1))
        width = 64
        for number, n_layers in enumerate(BLOCKS, start=1):
            block = nn.Sequential()
            for layer in range(1, n_layers + 1):
                block.add_module(f"denselayer{layer}", DenseLayer(width))
                width += GROWTH
            self.features.add_module(f"denseblock{number}", block)
            if number < len(BLOCKS):
                self.features.add_module(f"transition{number}", _transition(width))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.relu = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.classifier = nn.Linear(width, n_classes)
