"""Tallies on disk: an .npz of plain arrays with a JSON header. Nothing in it is executed, nonsense is refused."""

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.files import atomic_write
from pacshift.tally.histogram import BINS

FORMAT = "pacshift-tally"
VERSION = 1
MOST = 2.0**62  # larger sums would come close to overflow


def write(header: dict[str, Any], arrays: Mapping[str, NDArray[Any]], path: str | os.PathLike[str]) -> None:
    """All of it, or no file."""
    text = json.dumps({"format": FORMAT, "version": VERSION} | header)
    with atomic_write(path) as draft, open(draft, "wb") as file:
        np.savez_compressed(file, header=np.array(text), **arrays)  # type: ignore[arg-type]


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays, not yet looked at (:func:`require_sound`)."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        version = header["version"] if header["format"] == FORMAT else None
    except Exception as error:  # damaged zips raise a dozen kinds; none may surprise the user
        raise InputError(f"{path} is not a pacshift tally ({error}). Make one with `pacshift tally`.") from None
    if version != VERSION:
        raise InputError(f"{path}: tally version {version}, this pacshift reads {VERSION}. Update pacshift.")
    return header, arrays


def require_sound(arrays: Mapping[str, NDArray[Any]], size: int) -> None:
    """ValueError where the arrays of ``size`` classes contradict each other."""
    values, counts, starts = (arrays[name] for name in ("values", "counts", "starts"))
    _require_counts(arrays, size)
    if "bins" in arrays and (arrays["bins"].sum(axis=1) != arrays["target"].sum()).any():
        raise ValueError("the bins of a class must hold every target row")
    if values.dtype != np.float64 or values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("values must be finite floats")
    if (np.diff(starts) < 0).any() or starts[0] != 0 or starts[-1] != len(values):
        raise ValueError("starts must grow from 0 to the number of values")
    ascending = np.diff(values) > 0
    ascending[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(values))] - 1] = True
    if not ascending.all() or (counts == 0).any():
        raise ValueError("scores of a class must ascend and occur at least once")
    reached = np.concatenate([[0], np.cumsum(counts)])[starts]
    if not np.array_equal(np.diff(reached), arrays["confusion"].sum(axis=0)):
        raise ValueError("the scores of a class must be as many as its examples")


def _require_counts(arrays: Mapping[str, NDArray[Any]], size: int) -> None:
    shapes = {
        "confusion": (size, size),
        "target": (size,),
        "starts": (size + 1,),
        "counts": arrays["values"].shape,
    }
    shapes |= {"soft_source": (size, size), "soft_target": (size,), "bins": (size, BINS)}
    for name, array in arrays.items():
        if name == "values":
            continue
        if array.dtype != np.int64 or array.shape != shapes[name] or (array < 0).any():
            raise ValueError(f"{name} must hold counts of shape {shapes[name]}")
        if array.sum(dtype=np.float64) > MOST:
            raise ValueError(f"{name} adds up to more than {MOST:g}")
