"""Score files: from a folder of real scores, or those of the repository (own models, twins)."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.files.reading import read_arrays
from pacshift.scores.check import check_labels, check_scores
from pacshift.simulate.population import heart_arrays, same_everywhere, unpack_scores

# Twins: a seeded generator of scores that resemble those of a real classifier, which we may not ship.
#
# A row is drawn in three steps, each with parameters fitted to real scores:
#
# 1. the true label ``y`` from its share, then the predicted label ``g`` from P(g given y): the confusion
#    matrix is therefore that of the real scores, up to sampling;
# 2. the *gaps* d_k = log p_g - log p_k >= 0 of the other labels, by a Gaussian copula: correlated normal
#    numbers, each mapped through the quantile function of its gap;
# 3. p = softmax(-d). All gaps are >= 0, so ``g`` is the arg max by construction.
#
# With ``relative`` the copula is over a row's largest gap and the others as a share of it. That suits scores
# made of short lists (Entity-13), where all labels off the lists tie at one small probability.
#
# Right rows (g = y) have a copula for each label. Wrong rows are few, so those with the same ``g`` share a
# correlation, and a gap of the true label has its own quantiles only where the pair (y, g) has enough rows.

LEVELS = special.ndtr(np.linspace(-3.0, 3.0, 41))
"""Quantile levels kept: evenly spaced in normal scores, so that both tails are resolved. 41 keep a twin's file at
a few dozen kB."""


@dataclass(frozen=True, eq=False)
class Twin:
    """The fitted parameters; wrong rows share theirs, so that the file stays small."""

    shares: FloatArray
    """(K,) of the true labels."""
    confusion: FloatArray
    """(K, K): P(predicted = i given true = j)."""
    right: FloatArray
    """(K, K, L): quantiles of gap k on right rows of label y, ``right[y, k]``."""
    wrong: FloatArray
    """(K, K, L): quantiles of gap k, not the true label, on wrong rows predicted g, ``wrong[g, k]``."""
    missed: FloatArray
    """(K, K, L): quantiles of the true label's gap on wrong rows, ``missed[g, y]``."""
    right_factor: FloatArray
    """(K, K, K): square root of the correlation of normal scores on right rows of label y."""
    wrong_factor: FloatArray
    """(K, K, K): the same on wrong rows predicted g."""
    relative: bool = False
    """Gaps are shares of the largest gap of the row, which is stored instead of that of the predicted label."""

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n_rows`` probabilities and true labels."""
        n_classes = len(self.shares)
        counts = rng.multinomial(n_rows, (self.confusion * self.shares).ravel()).reshape(n_classes, n_classes)
        blocks, labels = [], []
        for predicted, true in np.argwhere(counts):
            blocks.append(self._block(int(predicted), int(true), int(counts[predicted, true]), rng))
            labels.append(np.full(counts[predicted, true], true))
        order = rng.permutation(n_rows)
        return np.concatenate(blocks)[order], np.concatenate(labels)[order].astype(np.int64)

    def _block(self, predicted: int, true: int, n_rows: int, rng: np.random.Generator) -> FloatArray:
        """Rows of one cell of the confusion matrix."""
        if predicted == true:
            factor, quantiles = self.right_factor[true], self.right[true]
        else:
            factor, quantiles = self.wrong_factor[predicted], self.wrong[predicted].copy()
            quantiles[true] = self.missed[predicted, true]
        uniform = special.ndtr(rng.standard_normal((n_rows, len(factor))) @ factor.T)
        gaps = np.stack([np.interp(u, LEVELS, q) for u, q in zip(uniform.T, quantiles, strict=True)], axis=1)
        if self.relative:
            gaps *= gaps[:, [predicted]]
        gaps[:, predicted] = 0.0
        return np.asarray(special.softmax(-gaps, axis=1))

    def arrays(self) -> dict[str, Any]:
        """Parameters at half precision, for a small file."""
        shared = {"shares": self.shares, "confusion": self.confusion, "relative": np.array(self.relative)}
        return {field.name: np.float16(getattr(self, field.name)) for field in fields(self)} | shared

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "Twin":
        """The inverse of ``arrays``; other keys are ignored."""
        values = {field.name: np.asarray(arrays[field.name], np.float64) for field in fields(cls)}
        return cls(**values | {"relative": bool(arrays["relative"])})  # type: ignore[arg-type]


Origin = Literal["real", "shipped", "twin"]

FILES = {
    "heart": "heart/scores_rebalanced.npz",
    "heart-natural": "heart/scores_natural.npz",
    "cifar10": "cifar10/scores.npz",
    "agnews": "agnews/scores.npz",
    "entity13": "entity13/scores.npz",
    "chestxray": "chestxray14/scores.npz",
}
"""Data set to its file in the folder of the data."""

TITLES = {
    "heart": "CDC heart",
    "heart-natural": "CDC heart, natural mix",
    "cifar10": "CIFAR-10",
    "agnews": "AG News",
    "entity13": "Entity-13",
    "chestxray": "ChestX-ray14",
}

ORIGINS = {"real": "real scores", "shipped": "scores shipped with pacshift", "twin": "a fitted twin"}

DATA = Path(__file__).with_name("data")
"""Own scores and twins."""
DEMO = "heart-natural"
"""The scores that are in the package, for `pacshift demo`."""

TWIN_ROWS = 40_000  # a round number; rows are drawn from them with replacement
ARRAYS = ("probs", "labels", "class_names", "facts", "row_ids", "groups", "image")
"""What is read from a scores file."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Scores of a classifier on rows it was not fitted on.

    Attributes
    ----------
    name : str
        What the command line calls it.
    probs : array of shape (n, K)
        One row per example, one column per class.
    labels : array of shape (n,)
        Column index of every true label.
    class_names : tuple of str
        Names of the columns.
    origin : {"real", "shipped", "twin"}
        Read from a file, shipped with the package, or sampled from a fitted twin.
    facts : mapping
        How the scores were made (model, data, recipe, seed, accuracy), where ``python -m paper train`` made them.
    row_ids : array of shape (n,), optional
        Which row of the raw data each row is.
    groups : array of shape (n,), optional
        Rows of one group (a patient) are never drawn into both source and target.

    Examples
    --------
    >>> data = Dataset("mine", np.array([[0.9, 0.1]]), np.array([0]), ("cat", "dog"), "real")
    >>> data.title, data.n_classes
    ('mine', 2)
    """

    name: str
    probs: FloatArray
    labels: IntArray
    class_names: tuple[str, ...]
    origin: Origin
    facts: Mapping[str, Any] = field(default_factory=dict)
    row_ids: NDArray[Any] | None = None
    groups: IntArray | None = None

    @property
    def title(self) -> str:
        """The name to show: the model and what it read, and a twin always says that it is one."""
        if self.facts:
            model = str(self.facts["model"])
            return f"{model[:1].upper()}{model[1:]}, {self.facts['data']}"
        return TITLES.get(self.name, self.name) + (" (twin)" if self.origin == "twin" else "")

    @property
    def story(self) -> str:
        """Where the scores come from, in one line."""
        line, facts = f"{self.title}: {ORIGINS[self.origin]}", self.facts
        if not facts:
            return line
        return (
            f"{line} (recipe {facts['recipe']}, seed {facts['seed']}, {facts['n_fitted']:,} rows fitted, "
            f"{facts['n_scored']:,} others scored, accuracy {facts['accuracy']:.4f})"
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.probs.shape[1])


def load_dataset(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the scores of one of the paper's data sets.

    Parameters
    ----------
    name : str
        ``"heart"``, ``"heart-natural"``, ``"cifar10"``, ``"agnews"``, ``"entity13"`` or ``"chestxray"``.
    data_dir : path, optional
        Folder of real scores; default: the environment variable ``PACSHIFT_DATA``. A data set that is not there
        comes from the package.

    Returns
    -------
    Dataset
        Its ``origin`` says where the scores come from.

    Raises
    ------
    InputError
        If the name is unknown, the folder holds no score file, or a file is not a valid one.

    Examples
    --------
    >>> load_dataset("agnews").class_names
    ('World', 'Sports', 'Business', 'Sci/Tech')
    """
    if name not in FILES:
        raise InputError(f"data set {name!r} is unknown. Use one of {', '.join(FILES)}, or your own scores file.")
    given = data_dir or os.environ.get("PACSHIFT_DATA")
    if not given:
        return _packaged(name)
    folder = Path(given)
    if not any((folder / place).is_file() for place in FILES.values()):
        raise InputError(
            f"{folder} holds no score file: expected at least one of {', '.join(FILES.values())}. "
            "Point --data (data_dir=, or PACSHIFT_DATA) to such a folder; without it, the scores come with paper/."
        )
    path = folder / FILES[name]
    return _named(load_scores(path, name=name), path) if path.is_file() else _packaged(name)


def _named(data: Dataset, path: Path) -> Dataset:
    """Refuse scores of another data set in this one's place: both heart models fit every heart panel."""
    made_for = data.facts.get("dataset", data.name)
    if made_for != data.name:
        place = FILES.get(made_for, "a file of its own")
        raise InputError(
            f"{path}: here the scores of {data.name!r} are expected, but the file says that it was made for "
            f"{made_for!r}. Move it to {place}."
        )
    return data


def load_scores(path: str | os.PathLike[str], *, name: str | None = None) -> Dataset:
    """Load a scores file: an NPZ with ``probs`` (n x K), ``labels`` and optionally ``class_names``.

    Parameters
    ----------
    path : path
        The file. Its labels are column numbers, or names from ``class_names``.
    name : str, optional
        Name of the data set; default: that of the file.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If the file cannot be read, lacks an array, or holds scores that are not finite.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "mine.npz")
    >>> np.savez(path, probs=[[0.9, 0.1], [0.2, 0.8]], labels=[0, 1])
    >>> load_scores(path).n_classes
    2
    """
    path = Path(path)
    arrays = _read_npz(path)
    missing = [key for key in ("probs", "labels") if key not in arrays]
    if missing:
        raise InputError(
            f"{path}: array {missing[0]!r} is missing (found {sorted(arrays)}). A scores file is an NPZ with "
            "'probs' (rows x classes), 'labels' (column numbers or names) and optionally 'class_names'."
        )
    scores = check_scores(arrays["probs"], name=str(path))
    finite = np.isfinite(scores.values).all(axis=1)
    if not finite.all():
        raise InputError(f"{path}: probs must be finite, row {int(finite.argmin())} is not. Drop such rows.")
    names = tuple(arrays.get("class_names", np.arange(scores.values.shape[1])).astype(str).tolist())
    if len(names) != len(scores.classes):
        raise InputError(f"{path}: {len(names)} class_names for {len(scores.classes)} columns of probs.")
    named = arrays["labels"].dtype.kind == "U"
    labels = check_labels(arrays["labels"], names if named else scores.classes, n_rows=len(scores), name=str(path))
    values = scores.values.astype(np.float64)
    return Dataset(name or path.stem, values, labels, names, "real", **_extras(path, arrays, len(labels)))


def _extras(path: Path, arrays: Mapping[str, NDArray[Any]], n_rows: int) -> dict[str, Any]:
    """What ``python -m paper train`` adds to a scores file."""
    found = {key: arrays[key] for key in ("row_ids", "groups") if key in arrays}
    if "image" in arrays:
        found = {"row_ids": arrays["image"]} | _patients(arrays["image"]) | found
    for key, values in found.items():
        if values.shape != (n_rows,):
            raise InputError(f"{path}: {key} has shape {values.shape}, expected one entry per row ({n_rows},).")
    if "row_ids" in found and found["row_ids"].dtype.kind == "S":  # the package stores names as bytes
        found["row_ids"] = np.char.decode(found["row_ids"], "utf-8")
    return found | ({"facts": _facts(path, arrays["facts"])} if "facts" in arrays else {})


def _patients(images: NDArray[Any]) -> dict[str, IntArray]:
    """The patients of ChestX-ray14 as groups: the names of its images begin with eight digits of the patient.

    >>> _patients(np.array(["00000013_005.png", "00000013_026.png", "00000032_001.png"]))
    {'groups': array([0, 0, 1])}
    """
    names = images.astype(str)
    if names.ndim != 1 or not all(re.fullmatch(r"[0-9]{8}_[0-9]{3}\.png", name) for name in names.tolist()):
        return {}
    return {"groups": np.unique(names.astype("U8"), return_inverse=True)[1].astype(np.int64)}


def _facts(path: Path, text: NDArray[Any]) -> dict[str, Any]:
    """The facts about the model, checked: tables show them."""
    words, counts = ("model", "data", "recipe"), ("seed", "n_fitted", "n_scored")
    needed = {**dict.fromkeys(words, str), **dict.fromkeys(counts, int), "accuracy": float}
    try:
        facts = json.loads(str(text))
        if not all(isinstance(facts[key], kind) for key, kind in needed.items()):
            raise TypeError("an entry has the wrong type")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: 'facts' must be JSON with {', '.join(needed)} ({error}). "
            "Make the file with python -m paper train, or leave 'facts' out."
        ) from error
    return dict(facts)


def _read_npz(path: Path) -> dict[str, NDArray[np.generic]]:
    """Every array of the file, without pickle."""
    try:
        return read_arrays(path, ARRAYS)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: not a readable NPZ file ({error}). Write it with numpy.savez.") from error


@cache
def _packaged(name: str) -> Dataset:
    """A data set of the package; read-only because all callers share it."""
    path = DATA / f"{name}.npz"
    arrays = heart_arrays() if name == DEMO else read_arrays(path)
    names = tuple(arrays["class_names"].tolist())
    origin: Origin = "shipped" if "gaps" in arrays else "twin"
    if origin == "shipped":
        probs, labels = unpack_scores(arrays["gaps"]), arrays["labels"].astype(np.int64)
    else:
        probs, labels = Twin.from_arrays(arrays).sample(TWIN_ROWS, np.random.default_rng(0))
        probs = same_everywhere(probs)
    for array in (probs, labels):
        array.flags.writeable = False
    return Dataset(name, probs, labels, names, origin, **_extras(path, arrays, len(labels)))
