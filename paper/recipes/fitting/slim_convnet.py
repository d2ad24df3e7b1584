"""A convolutional network small enough to be trained from scratch on a laptop.

Whitening filters, identity filters, GELU, norms without a scale and fast biases are those of K. Jordan, "94 % on
CIFAR-10 in 3.29 seconds on a single GPU" (2024, arXiv:2404.00498). The widths are ours.
"""

from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

PATCH = 2
RIDGE = 5e-4
"""Keeps filters of directions that hardly vary, such as those a JPEG lost, from amplifying noise. Patch and ridge
are those of Jordan's network."""


def whitening_filters(images: Tensor) -> Tensor:
    """Filters whose answers on patches of ``images`` are uncorrelated with variance 1; each one also negated.

    A patch of ``PATCH`` x ``PATCH`` pixels and 3 colours has 12 principal directions, so these are 24 filters.
    """
    patches = functional.unfold(images.double(), PATCH).transpose(1, 2).flatten(0, 1)
    variances, directions = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = (directions / torch.sqrt(variances + RIDGE)).T.reshape(-1, images.shape[1], PATCH, PATCH)
    return torch.cat([filters, -filters]).float()


class SlimConvNet(nn.Module):
    """Seven convolutions, the first one fixed. When it predicts, it averages over views of each image."""

    filters: Tensor

    def __init__(self, n_classes: int, filters: Tensor, widths: tuple[int, int, int] = (64, 128, 256)) -> None:
        super().__init__()
        self.register_buffer("filters", filters)
        groups = [_group(*ends) for ends in pairwise((len(filters), *widths))]
        self.body = nn.Sequential(*groups, nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.head = nn.Linear(widths[-1], n_classes, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of a batch."""
        images = images.contiguous(memory_format=torch.channels_last)
        if self.training:
            return self._logits(images)
        return sum(weight * self._logits(view) for weight, view in _views(images))

    def _logits(self, images: Tensor) -> Tensor:
        features = self.body(functional.gelu(functional.conv2d(images, self.filters)))
        logits: Tensor = self.head(features) / 9  # starts with unsure answers, whatever the features
        return logits


def _views(images: Tensor) -> Iterator[tuple[float, Tensor]]:
    """Each image as it is and moved by one pixel along the diagonal, both ways, and their mirror images."""
    height, width = images.shape[2:]
    padded = functional.pad(images, (1, 1, 1, 1), mode="reflect")
    for weight, start in ((1 / 4, 1), (1 / 8, 0), (1 / 8, 2)):
        view = padded[:, :, start : start + height, start : start + width]
        yield weight, view.contiguous(memory_format=torch.channels_last)
        yield weight, view.flip(-1).contiguous(memory_format=torch.channels_last)


def _group(width_in: int, width_out: int) -> nn.Sequential:
    """Half the resolution, two convolutions."""
    # Pooling before the normalisation: the same function, with a quarter of the work behind it.
    halved = [_convolution(width_in, width_out), nn.MaxPool2d(2), _norm(width_out), nn.GELU()]
    return nn.Sequential(*halved, _convolution(width_out, width_out), _norm(width_out), nn.GELU())


def _convolution(width_in: int, width_out: int) -> nn.Conv2d:
    """The first outputs start as copies of the inputs, so that signals reach the last layer at once."""
    layer = nn.Conv2d(width_in, width_out, 3, padding=1, bias=False)
    with torch.no_grad():
        nn.init.dirac_(layer.weight[:width_in])
    return layer


def _norm(width: int) -> nn.BatchNorm2d:
    """Few steps are taken, so the running means must follow quickly. A scale would repeat what the filters do."""
    layer = nn.BatchNorm2d(width, momentum=0.4)
    layer.weight.requires_grad_(False)
    return layer
