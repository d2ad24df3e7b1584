"""The reader of each data set."""

from collections.abc import Callable
from pathlib import Path

from paper.recipes.raw.agnews import read_agnews
from paper.recipes.raw.chestxray import read_chestxray
from paper.recipes.raw.cifar10 import read_cifar10
from paper.recipes.raw.data import RawData
from paper.recipes.raw.entity13 import read_entity13
from paper.recipes.raw.heart import read_heart

READERS: dict[str, Callable[[Path], RawData]] = {
    "heart": read_heart,
    "heart-balanced": read_heart,
    "agnews": read_agnews,
    "cifar10": read_cifar10,
    "entity13": read_entity13,
    "chestxray": read_chestxray,
}
