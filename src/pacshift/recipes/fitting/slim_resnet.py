"""A residual network of nine layers, small enough to be trained from scratch on a laptop."""

import torch
from torch import Tensor, nn


class SlimResNet(nn.Module):
    """For images of 32 pixels. When it predicts, it averages each image with its mirror image."""

    def __init__(self, n_classes: int, widths: tuple[int, int, int, int] = (32, 64, 128, 256)) -> None:
        super().__init__()
        first, second, third, last = widths
        self.body = nn.Sequential(
            _block(3, first),
            _block(first, second, pool=True),
            _Residual(second),
            _block(second, third, pool=True),
            _block(third, last, pool=True),
            _Residual(last),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(last, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of a batch."""
        images = images.contiguous(memory_format=torch.channels_last)
        logits: Tensor = self.head(self.body(images))
        if self.training:
            return logits
        mirrored: Tensor = self.head(self.body(images.flip(-1)))
        return (logits + mirrored) / 2


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(_block(width, width), _block(width, width))

    def forward(self, features: Tensor) -> Tensor:
        changed: Tensor = self.inner(features)
        return features + changed


def _block(width_in: int, width_out: int, *, pool: bool = False) -> nn.Sequential:
    # Pooling before the normalisation: the same function, with a quarter of the work behind it.
    layers = [nn.Conv2d(width_in, width_out, 3, padding=1, bias=False)]
    layers += [nn.MaxPool2d(2)] if pool else []
    return nn.Sequential(*layers, nn.BatchNorm2d(width_out), nn.ReLU(inplace=True))
