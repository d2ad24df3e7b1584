"""Score files: found in a folder of real scores, else what the package ships (own models, twins)."""

import os
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.experiments.twins import Twin

Origin = Literal["real", "shipped", "twin"]

FOLDERS = {
    "heart": "heart",
    "cifar10": "cifar10",
    "agnews": "agnews",
    "entity13": "entity13",
    "chestxray": "chestxray14",
}
"""Data set to its folder under ``--data DIR``; each folder holds ``scores.npz``."""

TITLES = {
    "heart": "CDC heart",
    "cifar10": "CIFAR-10",
    "agnews": "AG News",
    "entity13": "Entity-13",
    "chestxray": "ChestX-ray14",
}

TWIN_ROWS = 40_000
GAP_UNIT = 1024
"""Stored scores are log-probability gaps to the row's largest, in units of 1/1024 (0.1 % of the value)."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Scores of a classifier on rows it was not fitted on, with their true labels as column numbers."""

    name: str
    probs: FloatArray
    labels: IntArray
    class_names: tuple[str, ...]
    origin: Origin

    @property
    def title(self) -> str:
        """The name to show: a twin always says that it is one."""
        return TITLES.get(self.name, self.name) + (" (twin)" if self.origin == "twin" else "")

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.probs.shape[1])


def load_dataset(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Scores of one of the paper's data sets.

    ``data_dir`` (or the environment variable ``PACSHIFT_DATA``) may hold real scores as
    ``<folder>/scores.npz``; what is not there comes from the package, and ``origin`` says which.
    """
    if name not in FOLDERS:
        raise InputError(
            f"data set {name!r} is unknown. Use one of {', '.join(FOLDERS)}, or your own scores file."
        )
    folder = data_dir or os.environ.get("PACSHIFT_DATA")
    if folder:
        path = _score_file(Path(folder), name)
        if path.is_file():
            return load_scores(path, name=name)
    return _packaged(name)


def _score_file(folder: Path, name: str) -> Path:
    """Where ``name`` would be in ``folder``, which must hold at least one data set."""
    paths = {known: folder / place / "scores.npz" for known, place in FOLDERS.items()}
    if not any(path.is_file() for path in paths.values()):
        places = ", ".join(f"{place}/scores.npz" for place in FOLDERS.values())
        raise InputError(
            f"{folder} holds no score file: expected at least one of {places}. "
            "Point --data (or PACSHIFT_DATA) to a folder laid out like that, or leave it out to use what "
            "the package ships."
        )
    return paths[name]


def load_scores(path: str | os.PathLike[str], *, name: str | None = None) -> Dataset:
    """A scores file: NPZ with ``probs`` (n x K), ``labels`` (column numbers) and maybe ``class_names``."""
    path = Path(path)
    arrays = _read_npz(path)
    missing = [key for key in ("probs", "labels") if key not in arrays]
    if missing:
        raise InputError(
            f"{path}: array {missing[0]!r} is missing (found {sorted(arrays)}). A scores file is an NPZ with "
            "'probs' (rows x classes), 'labels' (column numbers) and optionally 'class_names'."
        )
    probs, labels = _check(path, arrays["probs"], arrays["labels"])
    names = arrays.get("class_names", np.arange(probs.shape[1])).astype(str).tolist()
    if len(names) != probs.shape[1]:
        raise InputError(
            f"{path}: {len(names)} class_names for {probs.shape[1]} columns of probs. Give one for each."
        )
    return Dataset(name or path.stem, probs, labels, tuple(names), "real")


def _read_npz(path: Path) -> dict[str, NDArray[np.generic]]:
    """Every array of the file, without pickle."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files if key in ("probs", "labels", "class_names")}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Give an NPZ file with 'probs' and 'labels'.") from None
    except (OSError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a readable NPZ file ({error}). Write it with numpy.savez.") from error


def _check(path: Path, probs: NDArray[np.generic], labels: NDArray[np.generic]) -> tuple[FloatArray, IntArray]:
    """Scores and labels with the shape and range that every trial relies on."""
    if probs.ndim != 2 or probs.shape[1] < 2 or not np.issubdtype(probs.dtype, np.floating):
        raise InputError(
            f"{path}: probs must be floats, rows x classes (K >= 2), got {probs.dtype} {probs.shape}."
        )
    if labels.shape != probs.shape[:1]:
        raise InputError(
            f"{path}: {len(probs)} rows of probs but labels of shape {labels.shape}. Give one label a row."
        )
    scores = probs.astype(np.float64)
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise InputError(f"{path}: probs must be finite, row {row} is not. Drop or repair such rows.")
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0 or labels.max() >= probs.shape[1]:
        raise InputError(
            f"{path}: labels must be column numbers 0..{probs.shape[1] - 1}, got {np.unique(labels)[:9]}."
        )
    return scores, labels.astype(np.int64)


@cache
def _packaged(name: str) -> Dataset:
    """What the package ships; read-only because every caller shares it."""
    with (
        resources.as_file(resources.files("pacshift.experiments") / "data" / f"{name}.npz") as path,
        np.load(path, allow_pickle=False) as file,
    ):
        arrays = {key: file[key] for key in file.files}
    names = tuple(arrays["class_names"].tolist())
    if "gaps" in arrays:
        probs, labels = unpack_scores(arrays["gaps"]), arrays["labels"].astype(np.int64)
        origin: Origin = "shipped"
    else:
        probs, labels = Twin.from_arrays(arrays).sample(TWIN_ROWS, np.random.default_rng(0))
        origin = "twin"
    for array in (probs, labels):
        array.flags.writeable = False
    return Dataset(name, probs, labels, names, origin)


def pack_scores(probs: FloatArray) -> NDArray[np.uint16]:
    """Probabilities as gaps to the row's largest, in units of 1/1024 of a natural logarithm."""
    with np.errstate(divide="ignore"):  # a probability of 0 becomes the largest gap that fits
        gaps = np.log(probs.max(axis=1, keepdims=True)) - np.log(probs)
    return np.asarray(np.minimum(np.rint(gaps * GAP_UNIT), np.iinfo(np.uint16).max), np.uint16)


def unpack_scores(gaps: NDArray[np.uint16]) -> FloatArray:
    """The probabilities again; rows sum to 1.

    >>> unpack_scores(pack_scores(np.array([[0.7, 0.2, 0.1]]))).round(3)
    array([[0.7, 0.2, 0.1]])
    """
    shares = np.exp(-gaps.astype(np.float64) / GAP_UNIT)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
