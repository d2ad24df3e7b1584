"""Training as a function: read the raw rows, split, fit, score the other rows, write the scores file."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pacshift import __version__
from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.files.writing import atomic_write
from paper.recipes.catalogue import Size, find_recipe
from paper.recipes.raw import READERS, BoolArray, RawData, describe_broken

if TYPE_CHECKING:
    from paper.recipes.fitting.loop import Progress
    from paper.recipes.fitting.models import TrainingJob


# Which rows a model is fitted on and which it scores: never the same row, never the same patient.


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers, sorted. `reproduce` draws source base and target base from the scored rows, trial by trial."""

    fitted: IntArray
    scored: IntArray


def split_rows(data: RawData, share: float, seed: int, limit: int | None = None) -> Split:
    """Fit on ``share`` of the rows that are not official test rows, score all others.

    Groups stay whole. The answer depends on the ids, the share, the seed and the limit only.
    """
    groups = np.arange(len(data.labels)) if data.groups is None else data.groups
    rng = np.random.default_rng([seed, 1])
    rows = _limited(groups, rng, limit)
    may_fit = rows[~np.isin(groups[rows], groups[data.is_test])]
    candidates = np.unique(groups[may_fit])
    chosen = rng.permutation(candidates)[: round(share * len(candidates))]
    fitted = may_fit[np.isin(groups[may_fit], chosen)]
    split = Split(fitted, np.setdiff1d(rows, fitted))
    check_split(split, groups)
    _check_classes(data, split)
    return split


def rebalanced(split: Split, labels: IntArray, mix: tuple[float, ...], seed: int) -> Split:
    """Leave fitted rows out at random until their label mix is ``mix``; the scored rows stay.

    >>> split = Split(np.arange(100), np.arange(100, 110))
    >>> labels = np.repeat([0, 1], [90, 20])
    >>> np.bincount(labels[rebalanced(split, labels, (0.6, 0.4), seed=0).fitted])
    array([15, 10])
    """
    rng, order = np.random.default_rng([seed, 4]), split.fitted
    counts, shares = np.bincount(labels[order], minlength=len(mix)), np.array(mix)
    kept = np.rint(shares * (counts / shares).min()).astype(int)
    order = rng.permutation(order)
    fitted = [order[labels[order] == label][:n_rows] for label, n_rows in enumerate(kept)]
    return Split(np.sort(np.concatenate(fitted)), split.scored)


def _limited(groups: IntArray, rng: np.random.Generator, limit: int | None) -> IntArray:
    """At most about ``limit`` rows, whole groups, in their order."""
    if limit is None or limit >= len(groups):
        return np.arange(len(groups))
    order = rng.permutation(np.unique(groups))
    sizes = np.bincount(groups, minlength=int(groups.max()) + 1)[order]
    kept = order[: max(1, int((sizes.cumsum() <= limit).sum()))]
    return np.flatnonzero(np.isin(groups, kept))


def check_split(split: Split, groups: NDArray[np.generic]) -> None:
    """Refuse to score a row, or a group, that the model was fitted on."""
    both = np.intersect1d(groups[split.fitted], groups[split.scored])
    if len(both):
        raise InputError(
            f"{len(both):,} rows or groups would be scored by a model that was fitted on them, such as {both[0]}. "
            "Scores of fitted rows void every guarantee. Score other rows."
        )


def _check_classes(data: RawData, split: Split) -> None:
    for what, rows in (("fitted", split.fitted), ("scored", split.scored)):
        counts = np.bincount(data.labels[rows], minlength=len(data.class_names))
        if counts.min(initial=1) < 1:
            name = data.class_names[int(counts.argmin())]
            raise InputError(
                f"no row of class {name!r} among the {len(rows):,} {what} rows. Use more data or a larger limit."
            )


# How good a model is on the rows it scores.


def measure(probs: NDArray[Any], labels: IntArray, is_test: BoolArray) -> dict[str, float]:
    """Accuracy on all rows and on the official test rows, and the area under the ROC curve.

    Not a number where there are no official test rows, or more than two classes.
    """
    is_right = probs.argmax(axis=1) == labels
    return {
        "accuracy": float(is_right.mean()),
        "test_accuracy": float(is_right[is_test].mean()) if is_test.any() else nan,
        "auc": area_under_curve(probs[:, 1], labels) if probs.shape[1] == 2 else nan,
    }


def area_under_curve(scores: NDArray[Any], labels: IntArray) -> float:
    """Area under the ROC curve: how often a row of class 1 scores higher than one of class 0.

    >>> import numpy as np
    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.875
    """
    from scipy.stats import rankdata

    n_positive = int(labels.sum())
    above = rankdata(scores)[labels == 1].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (len(labels) - n_positive)))


Report = Callable[[str, "Progress"], None]
"""Called with what is being done ("fit", "score") and how far it is."""


@dataclass(frozen=True)
class Trained:
    """What a training run made.

    Attributes
    ----------
    path : pathlib.Path
        The scores file.
    model : str
        The model and the data it read, as tables show them.
    n_fitted : int
        Rows that the model was fitted on. None of them is in the scores file.
    n_scored : int
        Rows of the scores file.
    accuracy : float
        Share of the scored rows whose most likely class is the true one.
    test_accuracy : float
        The same on the official test rows; not a number where there are none.
    auc : float
        Area under the ROC curve; not a number where there are more than two classes.
    note : str
        Images that could not be read; empty if there are none.
    """

    path: Path
    model: str
    n_fitted: int
    n_scored: int
    accuracy: float
    test_accuracy: float
    auc: float
    note: str


def train(
    dataset: str,
    raw: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    recipe: Size = "small",
    weights: str | None = None,
    device: str = "auto",
    resume: bool = False,
    limit: int | None = None,
    seed: int = 0,
    batch: int | None = None,
    pixels: int = 224,
    report: Report | None = None,
) -> Trained:
    """Train a model on raw data and write the scores of the rows it was not fitted on.

    Parameters
    ----------
    dataset : str
        ``"heart"``, ``"heart-natural"``, ``"agnews"``, ``"cifar10"``, ``"entity13"`` or ``"chestxray"``.
    raw : path
        The raw data in one of the official formats, a file or a folder.
    out : path
        Scores file to write, an NPZ that ``load_scores`` and ``python -m paper reproduce --data`` read. The
        checkpoint lies beside it.
    recipe : {"small", "paper"}
        The model for a laptop, or that of the paper.
    weights : str, optional
        Pretrained weights that a recipe starts from. ``"random"`` starts from random ones instead.
    device : {"auto", "cpu", "cuda"}
        Where to train.
    resume : bool
        Continue from the checkpoint, if there is one.
    limit : int, optional
        Use at most this many rows.
    seed : int
        The same seed gives the same split and, on one machine's processor, the same scores.
    batch : int, optional
        Rows per step; default: the recipe's.
    pixels : int
        Side of the images that a network for ImageNet gets.
    report : callable, optional
        Called with ``"fit"`` or ``"score"`` and the progress.

    Returns
    -------
    Trained

    Raises
    ------
    InputError
        If there is no such recipe, raw data are missing or damaged, or the memory is not enough.

    Examples
    --------
    >>> train("chestxray", "raw", "scores.npz", recipe="small")
    Traceback (most recent call last):
    ...
    pacshift.errors.InputError: chestxray has no recipe 'small'. Use: paper.
    """
    chosen = find_recipe(dataset, recipe)
    for name, value in (("batch", batch), ("limit", limit), ("pixels", pixels)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}.")
    if batch is not None:
        chosen = replace(chosen, settings=replace(chosen.settings, batch=batch))
    if seed < 0:
        raise InputError(f"seed must not be negative, got {seed}.")
    path = Path(out)
    if path.suffix != ".npz" or not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the scores file must end in .npz and its folder must exist.")
    from paper.recipes.fitting.loop import choose_device  # asks for torch before the raw data are read
    from paper.recipes.fitting.models import TrainingJob

    used = choose_device(device)
    data = READERS[dataset](Path(raw))
    split = split_rows(data, chosen.share, seed, limit)
    split = rebalanced(split, data.labels, chosen.mix, seed) if chosen.mix else split
    job = TrainingJob(chosen, data, split, weights, seed, pixels, used)
    probs, rows, broken = _fit_and_score(job, path.with_suffix(".checkpoint.pt"), resume, report)
    return _write(job, path, Path(raw), probs, rows, broken)


def _fit_and_score(
    job: "TrainingJob", checkpoint_path: Path, resume: bool, report: Report | None
) -> tuple[FloatArray, IntArray, dict[str, str]]:
    from paper.recipes.fitting.loop import Checkpoint, check_not_fitted, fit, predict
    from paper.recipes.fitting.models import build

    data, split = job.data, job.split
    if job.weights is not None and Path(job.weights).is_file():
        check_not_fitted(Path(job.weights), job.recipe.data, data.ids[split.scored], job.device)
    network, encoder = build(job)
    fitted_ids = data.ids[split.fitted].tolist()
    checkpoint = Checkpoint(checkpoint_path, job.identity, job.recipe.data, fitted_ids, resume=resume)
    fit(
        network,
        encoder,
        data.labels,
        split.fitted,
        job.recipe.settings,
        seed=job.seed,
        device=job.device,
        checkpoint=checkpoint,
        report=(lambda progress: report("fit", progress)) if report else None,
    )
    probs, rows = predict(
        network,
        encoder,
        split.scored,
        mixed=job.recipe.settings.mixed,
        device=job.device,
        report=(lambda progress: report("score", progress)) if report else None,
    )
    return probs, rows, dict(data.broken) | encoder.broken


def _write(
    job: "TrainingJob", path: Path, raw: Path, probs: FloatArray, rows: IntArray, broken: dict[str, str]
) -> Trained:
    """The scores with everything a reader must know about them."""
    data = job.data
    stored = probs.astype(np.float32)
    quality = measure(stored, data.labels[rows], data.is_test[rows])
    facts = _facts(job, quality, len(rows)) | {"n_unreadable": len(broken), "raw": str(raw.resolve())}
    arrays: dict[str, Any] = {
        "probs": stored,
        "labels": data.labels[rows].astype(np.int16),
        "class_names": np.array(data.class_names),
        "row_ids": data.ids[rows],
        "is_test": data.is_test[rows],
        "facts": np.array(json.dumps(facts)),
    }
    if data.groups is not None:
        arrays["groups"] = data.groups[rows]
    with atomic_write(path) as draft:
        np.savez_compressed(draft, allow_pickle=False, **arrays)
    model, n_fitted = f"{job.recipe.model}, {data.title}", len(job.split.fitted)
    return Trained(path, model, n_fitted, len(rows), **quality, note=describe_broken(broken))


def _facts(job: "TrainingJob", quality: dict[str, float], n_scored: int) -> dict[str, Any]:
    """What tables and readers of the file are told; JSON has no NaN."""
    measured = {key: None if math.isnan(value) else round(value, 4) for key, value in quality.items()}
    return {
        "dataset": job.recipe.data,
        "model": job.recipe.model,
        "data": job.data.title,
        "recipe": job.recipe.size,
        "ours": job.recipe.ours,
        "settings": asdict(job.recipe.settings),
        "weights": Path(job.weights).name if job.weights else None,
        "seed": job.seed,
        "n_fitted": len(job.split.fitted),
        "n_scored": n_scored,
        **measured,
        "device": f"{job.device.name}, {'mixed precision' if job.mixed else 'float32'}",
        "pacshift": __version__,
    }


def check_recipe_size(size: str) -> Size:
    """The name of a recipe, checked."""
    if size not in ("paper", "small"):
        raise InputError(f"recipe must be paper or small, got {size!r}.")
    return cast("Size", size)
