"""ResNet-50 with the public key names (``layer1.0.conv1.weight``, ``fc.weight``), so that published files load."""

from torch import Tensor, nn

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Width, blocks and stride of the four stages."""


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions around a shortcut."""

    EXPANSION = 4

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        width_out = self.EXPANSION * width
        self.conv1 = nn.Conv2d(width_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = (
            nn.Sequential(nn.Conv2d(width_in, width_out, 1, stride=stride, bias=False), nn.BatchNorm2d(width_out))
            if stride != 1 or width_in != width_out
            else None
        )

    def forward(self, features: Tensor) -> Tensor:
        """Features of the same or half the resolution."""
        shortcut = features if self.downsample is None else self.downsample(features)
        features = self.relu(self.bn1(self.conv1(features)))
        features = self.relu(self.bn2(self.conv2(features)))
        added: Tensor = self.relu(self.bn3(self.conv3(features)) + shortcut)
        return added


class ResNet50(nn.Sequential):
    """He et al., 2016."""

    HEAD = "fc"

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        width_in = 64
        for number, (width, blocks, stride) in enumerate(STAGES, start=1):
            stage = [Bottleneck(width_in, width, stride)]
            width_in = Bottleneck.EXPANSION * width
            stage += [Bottleneck(width_in, width, 1) for _ in range(blocks - 1)]
            self.add_module(f"layer{number}", nn.Sequential(*stage))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(width_in, n_classes)
