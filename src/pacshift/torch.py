"""torch: score a model batch by batch. The result is NumPy arrays, as ``calibrate`` and ``sets`` take them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError, MissingExtraError
from pacshift.scores.check import check_scores
from pacshift.scores.transforms import to_probabilities

LABEL_KEYS = ("labels", "label")
"""Where batches that are dictionaries hold their labels."""


class LoaderScores(NamedTuple):
    """What ``score_loader`` gives.

    Attributes
    ----------
    scores : float array of shape (n, K)
        One row per example, in the order of the loader.
    labels : array of shape (n,) or None
        Labels of the rows; None if the batches have none.
    """

    scores: NDArray[Any]
    labels: Any  # not "array or None": the caller knows whether the loader has labels


def score_loader(model: Any, loader: Iterable[Any], *, device: Any = None, softmax: bool = True) -> LoaderScores:
    """Score all batches of a data loader, without gradients and in evaluation mode.

    Parameters
    ----------
    model : torch.nn.Module or callable
        Gives logits of shape (batch, K), or an object that holds them as ``logits``.
    loader : iterable
        Its batches are inputs alone, tuples whose last part is the labels, or dictionaries of named inputs with
        the labels under ``"labels"`` or ``"label"``. A tuple with one part holds inputs alone.
    device : torch.device or str, optional
        Where to compute. Default: where the model's parameters are.
    softmax : bool, default True
        Whether to turn logits into probabilities. False leaves what the model gives.

    Returns
    -------
    LoaderScores
        ``scores`` and ``labels`` as NumPy arrays.

    Raises
    ------
    InputError
        If there are no batches, only some have labels, the scores are not a matrix, or they should become
        probabilities but are probabilities already.
    MissingExtraError
        If torch is not installed.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> data = torch.utils.data.TensorDataset(torch.eye(3), torch.tensor([2, 0, 1]))  # doctest: +SKIP
    >>> loader = torch.utils.data.DataLoader(data, batch_size=2)  # doctest: +SKIP
    >>> scores, labels = score_loader(torch.nn.Identity(), loader)  # doctest: +SKIP
    >>> scores.shape, labels.tolist()  # doctest: +SKIP
    ((3, 3), [2, 0, 1])
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError("pacshift.torch", error, "torch") from None
    if device is None:  # where the model's first parameter is, if it has any
        first = next(model.parameters(), None) if hasattr(model, "parameters") else None
        device = None if first is None else first.device
    parts: list[NDArray[Any]] = []
    labels: list[NDArray[Any]] = []
    with _evaluation_mode(model), torch.inference_mode():
        for batch in loader:
            inputs, named, truth = _split(batch)
            output = model(
                *(_to(part, device) for part in inputs), **{key: _to(named[key], device) for key in named}
            )
            parts.append(getattr(output, "logits", output).float().cpu().numpy())
            labels += [] if truth is None else [np.asarray(truth)]
    if not parts:
        raise InputError("loader: no batches. A generator is empty the second time: pass a data loader.")
    if labels and len(labels) < len(parts):
        raise InputError(f"loader: only {len(labels)} of {len(parts)} batches have labels. Label all or none.")
    scores = check_scores(np.concatenate(parts), name="model")
    found = to_probabilities(scores, name="model") if softmax else scores
    return LoaderScores(found.values, np.concatenate(labels) if labels else None)


def _split(batch: Any) -> tuple[list[Any], dict[str, Any], Any]:
    """Inputs by position, inputs by name, and labels or None."""
    if isinstance(batch, Mapping):
        truth = next((batch[key] for key in LABEL_KEYS if key in batch), None)
        return [], {key: value for key, value in batch.items() if key not in LABEL_KEYS}, truth
    if isinstance(batch, (tuple, list)) and len(batch) > 1:
        return list(batch[:-1]), {}, batch[-1]
    return list(batch) if isinstance(batch, (tuple, list)) else [batch], {}, None


def _to(part: Any, device: Any) -> Any:
    return part.to(device) if hasattr(part, "to") and device is not None else part


@contextmanager
def _evaluation_mode(model: Any) -> Iterator[None]:
    """Dropout off, batch statistics fixed; afterwards every layer is as it was."""
    layers = list(model.modules()) if hasattr(model, "modules") else []
    modes = [layer.training for layer in layers]
    try:
        if layers:
            model.eval()
        yield
    finally:
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode
