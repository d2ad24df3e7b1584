"""CIFAR-10: the official Python batches, or a folder of images (``train/CLASS/*.jpg``, ``test/CLASS/*.jpg``)."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.errors import InputError
from paper.recipes.raw.data import RawData
from paper.recipes.raw.images import ImageReader, find_images, require_folder

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")


def read_cifar10(folder: Path) -> RawData:
    """All rows that can be read."""
    require_folder(
        folder, "data_batch_1 to data_batch_5 and test_batch, or train/CLASS/*.jpg and test/CLASS/*.jpg"
    )
    for place in (folder, folder / "cifar-10-batches-py"):
        if (place / BATCHES[0]).exists():
            return _read_batches(place)
    return _read_folder(folder)


def _read_batches(folder: Path) -> RawData:
    """Rows in official order; a row's id is its batch and its place there."""
    parts = [_load(folder / name) for name in BATCHES]
    pixels = np.concatenate([part[b"data"] for part in parts]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    sizes = [len(part[b"labels"]) for part in parts]
    ids = [f"{name}/{row}" for name, size in zip(BATCHES, sizes, strict=True) for row in range(size)]
    labels = np.concatenate([part[b"labels"] for part in parts]).astype(np.int64)
    is_test = np.repeat([name == "test_batch" for name in BATCHES], sizes)
    return RawData("CIFAR-10", np.array(ids), labels, CLASSES, np.ascontiguousarray(pixels), is_test)


class _ArraysOnly(pickle.Unpickler):
    """A pickle can run any code; these hold dictionaries, lists, bytes and NumPy arrays only."""

    def find_class(self, module: str, name: str) -> Any:
        is_array = module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype")
        if is_array or (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it refers to {module}.{name}")


def _load(path: Path) -> dict[bytes, Any]:
    try:
        with path.open("rb") as file:
            batch: dict[bytes, Any] = _ArraysOnly(file, encoding="bytes").load()
        if batch[b"data"].shape != (len(batch[b"labels"]), 3072):
            raise ValueError(f"data of shape {batch[b'data'].shape} for {len(batch[b'labels'])} labels")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. The folder must hold {', '.join(BATCHES)}.") from None
    except (OSError, EOFError, KeyError, ValueError, AttributeError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{path}: not a batch of CIFAR-10 ({error}). Download the Python version again."
        ) from error
    return batch


def _read_folder(folder: Path) -> RawData:
    """Small enough to be decoded at once."""
    paths = [path for part in ("train", "test") for path in find_images(folder / part)]
    if not paths:
        raise InputError(
            f"{folder} holds neither {BATCHES[0]} nor images in train/CLASS and test/CLASS. Check the path."
        )
    unknown = {path.parent.name for path in paths} - set(CLASSES)
    if unknown:
        raise InputError(
            f"{folder}: folder {sorted(unknown)[0]!r} is not one of the classes {', '.join(CLASSES)}."
        )
    reader = ImageReader(size=32)
    pixels, is_good = reader.read_all(paths)
    kept = [path for path, good in zip(paths, is_good, strict=True) if good]
    return RawData(
        f"CIFAR-10 {kept[0].suffix.lstrip('.').upper().replace('JPG', 'JPEG')} folder",
        np.array([path.relative_to(folder).as_posix() for path in kept]),
        np.array([CLASSES.index(path.parent.name) for path in kept]),
        CLASSES,
        pixels,
        np.array([path.relative_to(folder).parts[0] == "test" for path in kept]),
        broken=reader.broken,
    )
