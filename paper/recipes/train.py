"""Training as a function: read the raw rows, split, fit, score the other rows, write the scores file."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pacshift import __version__
from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.files.writing import atomic_write
from paper.recipes.catalogue import Size, find_recipe
from paper.recipes.quality import measure
from paper.recipes.raw.images import describe_broken
from paper.recipes.reading import READERS
from paper.recipes.split import split_rows

if TYPE_CHECKING:
    from paper.recipes.fitting.loop import Progress
    from paper.recipes.fitting.models import TrainingJob

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
        ``"heart"``, ``"heart-balanced"``, ``"agnews"``, ``"cifar10"``, ``"entity13"`` or ``"chestxray"``.
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
    from paper.recipes.fitting.device import choose_device  # asks for torch before the raw data are read
    from paper.recipes.fitting.models import TrainingJob

    used = choose_device(device)
    data = READERS[dataset](Path(raw))
    split = split_rows(data, chosen.share, seed, limit)
    job = TrainingJob(chosen, data, split, weights, seed, pixels, used)
    probs, rows, broken = _fit_and_score(job, path.with_suffix(".checkpoint.pt"), resume, report)
    return _write(job, path, Path(raw), probs, rows, broken)


def _fit_and_score(
    job: "TrainingJob", checkpoint_path: Path, resume: bool, report: Report | None
) -> tuple[FloatArray, IntArray, dict[str, str]]:
    from paper.recipes.fitting.checkpoint import Checkpoint, check_not_fitted
    from paper.recipes.fitting.loop import fit, predict
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
