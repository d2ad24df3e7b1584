"""What comes in: scores as a finite float matrix, class names, labels matched to columns by name."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray, Label, LabelsLike, RngLike, ScoresLike
from pacshift.errors import InputError, param
from pacshift.scores.frames import as_array, index_of, require_same_index, to_floats, to_matrix
from pacshift.scores.names import is_null, match_labels, shorten, suggest_names, text_of
from pacshift.words.numbers import have, plural

BINARY = "For two classes pass np.column_stack([1 - p, p])."
MIN_RATE = 1e-100
"""The smallest epsilon and delta: shares of them stay far from the smallest float."""

SAMPLE_ROWS = 1000
"""So many rows are looked at to find columns that are no scores: an ``id`` shows in the first few."""

MAX_SCORE = float(np.finfo(np.float32).max)
"""Larger scores, 3.4e38, would be infinite where they are stored in single precision."""

_ROUNDING = 0.01  # of two digits
_UNWRITABLE = re.compile("[\\x00\\ud800-\\udfff]")
_BLOCK_VALUES = 1 << 17  # scores of one block: few calls per score, and still near the processor


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMatrix:
    """A checked score matrix: row x, column y holds f(x, y); ``classes`` names the columns.

    ``named_by_frame``: the names are those of a frame's columns, whatever these may be. ``index``: that of a
    pandas frame.
    """

    values: NDArray[np.floating[Any]]
    classes: tuple[Label, ...]
    named_by_frame: bool = False
    index: Any = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def block_rows(self) -> int:
        """Rows that fit the cache."""
        return max(1, min(len(self), _BLOCK_VALUES // len(self.classes)))

    def take(self, places: IntArray) -> "ScoreMatrix":
        """Some of the rows, without their index."""
        return replace(self, values=self.values[places], index=None)

    def blocks(self, rows: slice = slice(None)) -> Iterator[slice]:
        """Row ranges that fit the cache, of all rows or of a range of them."""
        start, stop, _ = rows.indices(len(self))
        step = self.block_rows
        return (slice(first, min(first + step, stop)) for first in range(start, stop, step))


def check_scores(
    scores: ScoresLike | ScoreMatrix,
    *,
    name: str,
    classes: Sequence[Label] | None = None,
    columns: Sequence[str] = (),
) -> ScoreMatrix:
    """Turn whatever holds a score matrix into a ``ScoreMatrix``, or say in an InputError what is wrong.

    Arrays, anything with ``__array__`` or DLPack, nested lists, pandas, polars and Arrow frames are accepted, and
    what is checked already. A frame's columns are found by the names of the classes, or by ``columns`` (one per
    class) if it has them all.
    Infinite or missing scores are found later, in the one pass over the data (``not_finite_error``).
    """
    if isinstance(scores, ScoreMatrix):
        return scores
    named_classes = None if classes is None else check_classes(classes)
    values, column_labels = to_matrix(scores, name, named_classes, columns)
    if values.ndim != 2:
        got = "a single column" if values.ndim == 1 else f"an array of {values.ndim} dimensions"
        how = f" {BINARY}" if values.ndim == 1 and len(named_classes or "ab") == 2 else ""
        raise InputError(f"{name}: scores need one column per class, got {got}.{how}")
    if values.shape[1] < 2:
        columns = plural(values.shape[1], "score column")
        raise InputError(f"{name}: {columns}, but at least 2 classes are needed. {BINARY}")
    if len(values) == 0:
        raise InputError(f"{name}: no rows. At least one row is needed.")
    named = named_classes or check_classes(range(values.shape[1]) if column_labels is None else column_labels)
    if len(named) != values.shape[1]:
        raise InputError(
            f"{name}: {values.shape[1]} score columns, but there are {len(named)} classes. Give one column per "
            "class."
        )
    return ScoreMatrix(values, named, named_classes is None and column_labels is not None, index_of(scores))


def is_row(scores: Any) -> bool:
    """Whether scores are those of one row: an array or series of one dimension, or a list of numbers.

    >>> is_row([0.9, 0.1]), is_row(np.array([0.9, 0.1])), is_row([[0.9, 0.1]])
    (True, True, False)
    """
    if isinstance(scores, (list, tuple)):
        return bool(scores) and isinstance(scores[0], (int, float, np.number))
    return len(getattr(scores, "shape", ())) == 1


def as_rows(row: Any, n_classes: int) -> Any:
    """One row as a matrix; a pandas series as a frame, in which scores are found by name."""
    if hasattr(row, "iloc"):
        return row.to_frame().T.infer_objects()
    if len(row) != n_classes:
        how = f" {BINARY}" if n_classes == 2 else ""
        raise InputError(
            f"{param('scores')}: one row needs a score for each of the {n_classes} classes, got {len(row)} "
            f"numbers. Pass several rows as a matrix.{how}"
        )
    return as_array(row, "scores", "scores")[None]


def is_finite(values: NDArray[np.floating[Any]]) -> bool:
    """Whether no value is NaN or infinite, also in single precision.

    >>> is_finite(np.array([0.5, -3e38])), is_finite(np.array([0.5, 1e39])), is_finite(np.array([np.nan]))
    (True, False, False)
    """
    return not values.size or bool(values.min() >= -MAX_SCORE and values.max() <= MAX_SCORE)


def round_to_single(scores: NDArray[np.floating[Any]]) -> FloatArray:
    """Scores rounded to single precision, as float64 in rows: a row has the same bits whatever its type and block.

    Numbers beyond the range of single precision stay as they are.

    >>> round_to_single(np.array([0.1, 1e300])).tolist()
    [0.10000000149011612, 1e+300]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.ascontiguousarray(scores.astype(np.float32, copy=False), np.float64)
    return plain if scores.dtype == np.float32 or is_finite(plain) else np.where(np.isinf(plain), scores, plain)


def unusable_rows(values: NDArray[np.floating[Any]], *, softmax: bool) -> BoolArray:
    """Rows with a score that is not finite; of logits, rows whose softmax is not: -inf rules a class out.

    >>> unusable_rows(np.array([[0.5, -np.inf], [np.nan, 1.0]]), softmax=True)
    array([False,  True])
    """
    finite = np.isfinite(values.max(axis=1)) if softmax else (np.abs(values) <= MAX_SCORE).all(axis=1)
    return np.asarray(~finite)


def not_finite_error(scores: ScoreMatrix, name: str) -> InputError:
    """Says how many rows hold NaN or infinite scores, and which is the first."""
    bad = np.concatenate([unusable_rows(scores.values[rows], softmax=False) for rows in scores.blocks()])
    rows, first = have(int(bad.sum()), "row"), int(bad.argmax())
    if np.isfinite(scores.values[bad]).all():
        return InputError(
            f"{name}: {rows} scores beyond single precision ({MAX_SCORE:.1e}), the first is row {first}. Scale "
            "the scores, or leave such rows out."
        )
    return InputError(
        f"{name}: {rows} NaN or infinite scores, the first is row {first}. Fix such rows, or leave them out."
    )


def check_classes(classes: Any) -> tuple[Label, ...]:
    """Class names as plain Python values: at least two, no two alike."""
    if isinstance(classes, (str, set, frozenset)) or not isinstance(classes, Iterable):
        raise InputError(
            f"{param('classes')} must be a list of names, one per column in their order, got {classes!r}."
        )
    names: list[Label] = []
    seen: set[str | Label | None] = set()
    for name in np.asarray(classes, object) if hasattr(classes, "__array__") else classes:
        value = name.item() if isinstance(name, np.generic) else name
        if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            raise InputError(
                f"class names must be strings, finite numbers or booleans, got {value!r}. Convert it to str."
            )
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise InputError("class names that are whole numbers must fit into 64 bits. Convert them to str.")
        if isinstance(value, str) and _UNWRITABLE.search(value):  # JSON in UTF-8 and NumPy must both keep it
            raise InputError(
                f"class names must be valid Unicode without NUL characters, got {value!r}. Rename it."
            )
        if value in seen or text_of(value) in seen:  # 1 and True are equal, 1 and "1" have one text
            raise InputError(
                f"class names must differ, but {value!r} occurs twice. They are compared as text, so 1 and '1' "
                "are one name. Rename one of them."
            )
        seen |= {value, text_of(value)}
        names.append(value)
    if len(names) < 2:
        raise InputError(f"at least 2 classes are needed, got {len(names)}.")
    return tuple(names)


def check_labels(
    labels: LabelsLike, classes: tuple[Label, ...], *, n_rows: int, name: str, index: Any = None
) -> IntArray:
    """Column of each label, matched by name (see ``scores.names``), never by position.

    ``index`` is that of a pandas frame of the rows; labels that have one must have the same.
    """
    values = name_array(labels, name, "labels")
    if values.ndim != 1:
        raise InputError(f"{name}: labels must be one per row, got an array of {values.ndim} dimensions.")
    if len(values) != n_rows:
        raise InputError(
            f"{name}: {plural(len(values), 'label')} for {n_rows:,} rows of scores. Give one label per row."
        )
    require_same_index(index, labels, name)
    columns = match_labels(values, classes)
    unknown = np.flatnonzero(columns < 0)
    if not len(unknown):
        return columns
    strange = values[unknown].tolist()
    places = zip(unknown.tolist(), strange, strict=True)
    missing = [row for row, label in places if not hasattr(label, "__len__") and is_null(label)]
    if missing:
        raise InputError(
            f"{name}: {have(len(missing), 'row')} no label, the first is row {missing[0]}. Label such rows, or "
            "leave them out of scores and labels."
        )
    if len(unknown) == n_rows and classes == tuple(range(len(classes))) and isinstance(strange[0], str):
        raise InputError(
            f"{name}: the score columns have no names, so the classes are {shorten(classes)}, but the labels are "
            f"texts such as {strange[0]!r}. Pass the names in the order of the columns: {param('classes=')}."
        )
    remedy = suggest_names(strange, classes, name if name.endswith("labels") else "labels")
    raise InputError(
        f"{name}: {plural(len(unknown), 'label')} not among the classes, the first is {strange[0]!r} in row "
        f"{unknown[0]}. The classes are {shorten(classes)}."
        + (remedy or f" Correct the labels, or name the classes as the labels do: {param('classes=')}.")
    )


def name_array(labels: Any, name: str, what: str) -> NDArray[Any]:
    """Labels or other names as an array that says what was given; ``what`` they are, for messages."""
    values = as_array(labels, name, what)
    if values.dtype.kind in "mM" and len(values) and np.isnat(values).all():
        return np.full(values.shape, None, object)  # pandas gives a column that is NaT alone the type of times
    if values.dtype.kind in "mMcV":
        raise InputError(
            f"{name}: {what} must be text, numbers or booleans, got dtype {values.dtype}. Convert them to text."
        )
    if isinstance(labels, (list, tuple)) and values.ndim == 1:
        # NumPy gives a list one type, and drops NULs at the end.
        types = set(map(type, labels))
        mixed = len(types) > 1 or (types == {int} and values.dtype.kind == "f")
        if mixed or (values.dtype.kind == "U" and any(label.endswith("\0") for label in labels)):
            values = np.empty(len(labels), object)
            values[:] = labels
    return values


def check_rate(value: Any, name: str) -> float:
    """A share strictly between 0 and 1 (epsilon, delta), not below ``MIN_RATE``."""
    try:
        rate = float(value) if hasattr(value, "__float__") or hasattr(value, "__index__") else math.nan
    except (TypeError, ValueError):
        rate = math.nan
    except OverflowError:  # a whole number beyond every float
        rate = math.inf
    if not 0 < rate < 1:
        shown = "a number far above 1" if rate == math.inf else repr(value) if math.isnan(rate) else f"{rate:.12g}"
        hint = f" For {rate:g} % write {rate / 100:g}." if 1 <= rate < 100 else ""
        if rate == 0 and name == "delta":
            hint = " A promise without any chance of failure is not possible."
        raise InputError(f"{param(name)} must lie strictly between 0 and 1, got {shown}.{hint}")
    if rate < MIN_RATE:
        raise InputError(
            f"{param(name)} must be at least {MIN_RATE:g}, got {value!r}: no data can show so small a rate. Raise "
            "it."
        )
    return rate


def check_flag(value: Any, name: str) -> bool:
    """True or False, also NumPy's; anything else is a mistake, and text would always count as true."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{param(name)} must be True or False, got {value!r}.")
    return bool(value)


def check_weights(weights: Any, classes: tuple[Label, ...]) -> FloatArray:
    """One finite importance weight >= 0 per class, not all of them 0; those of a mapping by name."""
    n_classes = len(classes)
    if isinstance(weights, Mapping):
        by_text = {text_of(name): weight for name, weight in weights.items()}
        texts = [text_of(name) for name in classes]
        if len(by_text) != len(weights) or set(by_text) != set(texts):
            raise InputError(
                f"weights: they name {shorten(list(weights))}, but the classes are {shorten(classes)}. Name every "
                "class once, or pass a plain list in the order of the classes."
            )
        weights = [by_text[text] for text in texts]
    values = to_floats(weights, "weights").astype(np.float64, copy=False)
    if values.shape != (n_classes,) or not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise InputError(
            f"{param('weights')}: one finite number >= 0 per class is needed ({n_classes} of them, not all 0), "
            f"got {weights!r}."
        )
    return values


def check_rng(rng: RngLike) -> np.random.Generator:
    """An int seed, a Generator or None, as a Generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"{param('rng')} must be a seed >= 0, a numpy Generator or None, got {rng!r}.") from None


def check_seed(rng: RngLike) -> int:
    """The seed of the coins: an int as it is, the next number of a Generator, 0 for None.

    >>> check_seed(7), check_seed(None)
    (7, 0)
    """
    if rng is None:
        return 0
    generator = check_rng(rng)
    return int(rng) if isinstance(rng, (int, np.integer)) else int(generator.integers(2**63))


def foreign_columns(sample: NDArray[np.floating[Any]], class_counts: IntArray) -> list[int]:
    """Columns of classes without labelled rows that cannot be scores of the model that made the others.

    A pattern as wide as ``*`` takes an ``id`` for a class. Only classes without any labelled row are looked at: an
    ``id`` has none, and a class of the model rarely has none.

    They can be if all columns add up to 1. If the other columns do so alone, then this one is foreign.
    If neither is so, as for logits, a column may exceed the range of the others by as much as that range is wide.

    >>> foreign_columns(np.array([[0.9, 0.1, 501], [0.2, 0.8, 502]]), np.array([1, 1, 0]))
    [2]
    """
    known = class_counts > 0
    if known.all() or not known.any() or adds_up(sample, np.ones_like(known)):
        return []
    empty = np.flatnonzero(~known).tolist()
    if adds_up(sample, known):
        return [column for column in empty if np.abs(sample[:, column]).max() > _ROUNDING]
    least, most = float(sample[:, known].min()), float(sample[:, known].max())
    room = most - least or max(1.0, abs(most))
    inside = (sample >= least - room) & (sample <= most + room)
    return [column for column in empty if not inside[:, column].all()]


def adds_up(sample: NDArray[np.floating[Any]], columns: BoolArray) -> bool:
    chosen = sample[:, columns]
    sums = chosen.sum(axis=1, dtype=np.float64)
    return bool((chosen >= 0).all()) and np.allclose(sums, 1, rtol=_ROUNDING, atol=0)


def require_plausible(scores: ScoreMatrix, class_counts: IntArray) -> None:
    """Raise where a column, such as ``id``, cannot be a class although its name would make it one."""
    foreign = foreign_columns(scores.values[:SAMPLE_ROWS], class_counts)
    if foreign:
        names = shorten([scores.classes[place] for place in foreign])
        raise InputError(
            f"source: column {names} does not look like scores: no row has this label, and the values do not fit "
            f"the other score columns. Pass the score columns only (of a table: {param('scores=')}), or name all "
            f"classes with {param('classes=')} if it is right."
        )
