"""The reader of each data set."""

from collections.abc import Callable
from pathlib import Path

from pacshift.recipes.raw.agnews import read_agnews
from pacshift.recipes.raw.chestxray import read_chestxray
from pacshift.recipes.raw.cifar10 import read_cifar10
from pacshift.recipes.raw.data import RawData
from pacshift.recipes.raw.entity13 import read_entity13
from pacshift.recipes.raw.heart import read_heart

READERS: dict[str, Callable[[Path], RawData]] = {
    "heart": read_heart,
    "heart-balanced": read_heart,
    "agnews": read_agnews,
    "cifar10": read_cifar10,
    "entity13": read_entity13,
    "chestxray": read_chestxray,
}
