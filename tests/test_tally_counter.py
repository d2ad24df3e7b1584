"""One counter: memory, Arrow and Spark give the counts that a loop over the rows gives, bit for bit."""

import warnings
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pacshift import InputError, Tally, UninformativeWarning, calibrate, parallel, read
from pacshift.scores.transforms import TRANSFORMS
from pacshift.tally import counter, stores
from pacshift.tally.cells import CONFIDENCE_EDGES, Cells, top_bin
from pacshift.tally.counter import Counter as Counts
from pacshift.tally.counter import CountOptions, read_blocks, top_scores
from pacshift.tally.grid import BINS, MAX_BINNED_CLASSES, to_grid
from strategies import seeds

Engine = Callable[..., Tally]
SPARK = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
EIGHTHS = [2.0**octave * (1 + eighth / 8) for octave in range(-32, 0) for eighth in range(8)]
EDGES = [0.0, *EIGHTHS[1:], 1.0]
"""Lower edges of the target's bins."""


def in_memory(_folder: Path, scores: Any, labels: Any, **options: Any) -> Tally:
    if labels is None:
        return Tally.from_target(scores)
    return Tally.from_scores(scores, labels, grid=True, **options)


def as_columns(folder: Path, scores: Any, labels: Any) -> Path:
    columns = {f"p_{place}": column for place, column in enumerate(scores.T)}
    return written(folder, columns if labels is None else columns | {"label": labels})


def as_lists(folder: Path, scores: Any, labels: Any) -> Path:
    columns = {"p_": pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), scores.shape[1])}
    return written(folder, columns if labels is None else columns | {"label": labels})


def written(folder: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), folder / "table.parquet")
    return folder / "table.parquet"


@pytest.fixture(params=["memory", "arrow", "arrow lists", pytest.param("spark", marks=SPARK)])
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Counts scores and labels (None: a target) on the grid."""
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 3000)  # several batches
    monkeypatch.setattr(counter, "BLOCK_VALUES", 3000)  # several blocks
    monkeypatch.setattr(counter, "PIECE_VALUES", 700)  # several pieces each
    if request.param == "memory":
        return lambda *data, **options: in_memory(tmp_path, *data, **options)
    store = as_lists if request.param == "arrow lists" else as_columns
    if request.param == "spark":
        session = request.getfixturevalue("spark")
        return lambda scores, labels, **options: with_spark(
            session, store(tmp_path, scores, labels), labels, options
        )

    def with_arrow(scores: Any, labels: Any, **options: Any) -> Tally:
        label = None if labels is None else "label"
        return read(store(tmp_path, scores, labels), label=label).tally(**options)

    return with_arrow


def with_spark(session: Any, path: Path, labels: Any, options: dict[str, Any]) -> Tally:
    frame = session.read.parquet(str(path)).repartition(3)
    return read(frame, label=None if labels is None else "label").tally(**options)


def drawn(n_rows: int, n_classes: int, kind: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Scores with ties, zeros of both signs and very small ones; some classes may be empty."""
    rng = np.random.default_rng(n_rows + n_classes)
    labels = rng.integers(0, max(1, n_classes - 1), n_rows)
    scores = rng.dirichlet(np.full(n_classes, 0.2), n_rows)
    scores[::7] = rng.choice([0.0, -0.0, 0.5, 0.25, 1.0, 1e-12], (len(scores[::7]), n_classes))
    if kind == "float32":
        return scores.astype(np.float32), labels
    return (np.log(scores + 1e-9) if kind == "logits" else scores), labels


def naive(scores: NDArray[Any], labels: NDArray[np.int64] | None) -> dict[str, Any]:
    """What a tally holds, counted row by row in plain Python."""
    rows, n_classes = scores.astype(np.float64).tolist(), scores.shape[1]
    probabilities = min(map(min, rows)) >= 0 and max(map(max, rows)) <= 1.001
    cells: Counter[tuple[int, int, int]] = Counter()
    own: dict[int, Counter[float]] = defaultdict(Counter)
    soft: dict[int, list[int]] = defaultdict(lambda: [0] * n_classes)
    bins = [[0] * BINS for _ in range(n_classes)]
    for place, row in enumerate(rows):
        label = 0 if labels is None else int(labels[place])
        top = np.float32(max(row))
        reached = sum(bool(top >= np.float32(1) - np.float32(edge)) for edge in CONFIDENCE_EDGES)
        fine = int(top_bin(np.array([top]))[0])
        cells[row.index(max(row)), reached if probabilities else fine, label] += 1
        own[label][float(to_grid(row[label]))] += 1
        for column, score in enumerate(row):
            soft[label][column] += round(Fraction(score) * 2**28)
            bins[column][bisect_right(EDGES, score) - 1 if probabilities else 0] += 1
    answer = {"cells": cells, "own": own}
    return answer | {"soft": soft if probabilities else None, "bins": bins if probabilities else None}


def decoded(cells: Cells) -> dict[tuple[int, int, int], int]:
    keys = zip(cells.predicted.tolist(), cells.bin.tolist(), cells.labels.tolist(), strict=True)
    return dict(zip(keys, cells.counts.tolist(), strict=True))


@pytest.mark.parametrize("kind", ["float64", "float32", "logits"])
@pytest.mark.parametrize("n_classes", [2, 12, 13, 40])
def test_a_source_is_counted_as_a_loop_counts_it(engine: Engine, n_classes: int, kind: str) -> None:
    scores, labels = drawn(1000, n_classes, kind)
    expected, tally = naive(scores, labels), engine(scores, labels)
    assert decoded(tally.source_cells) == expected["cells"]
    for label in range(n_classes):
        own = slice(tally.starts[label], tally.starts[label + 1])
        counts = zip(tally.values[own].tolist(), tally.counts[own].tolist(), strict=True)
        assert dict(counts) == expected["own"][label]
    if kind == "logits":
        assert tally.soft is None
    else:
        assert tally.soft is not None
        found = zip(tally.soft.labels.tolist(), tally.soft.sums.tolist(), strict=True)
        assert dict(found) == expected["soft"]
    assert tally.bins is None
    assert tally == Tally.from_scores(scores, labels, grid=True)


@pytest.mark.parametrize("kind", ["float64", "float32", "logits"])
@pytest.mark.parametrize("n_classes", [3, 40])
def test_a_target_is_counted_as_a_loop_counts_it(engine: Engine, n_classes: int, kind: str) -> None:
    scores, _ = drawn(1000, n_classes, kind)
    expected, tally = naive(scores, None), engine(scores, None)
    assert decoded(tally.target_cells) == expected["cells"]
    assert (None if tally.bins is None else tally.bins.tolist()) == expected["bins"]
    sums = None if expected["soft"] is None else expected["soft"][0]
    assert (None if tally.soft is None else tally.soft.target.tolist()) == sums
    assert tally == Tally.from_target(scores)


def test_one_score_that_is_no_probability_takes_bins_and_sums_from_all(engine: Engine) -> None:
    scores, labels = drawn(1000, 4, "float64")
    scores[777, 2] = -3.0
    source, target = engine(scores, labels), engine(scores, None)
    assert source.soft is None
    assert target.soft is None
    assert target.bins is None
    for cells in (source.source_cells, target.target_cells):
        assert cells.bins != "confidence"
        assert cells.n_rows == 1000


@pytest.mark.parametrize("n_classes", [5, 70])
def test_plain_transforms_are_the_same_on_every_engine(engine: Engine, n_classes: int) -> None:
    scores, labels = drawn(600, n_classes, "float64")
    for score in ("margin", "aps-plain"):
        assert engine(scores, labels, score=score) == Tally.from_scores(scores, labels, grid=True, score=score)


def strided(matrix: NDArray[Any]) -> NDArray[Any]:
    return np.repeat(matrix, 2, axis=1)[:, ::2]


@pytest.mark.slow
@settings(max_examples=40)
@given(seeds, st.sampled_from([2, 5, 12, 13, 64, 130, 201]), st.booleans(), st.booleans(), st.data())
def test_blocks_and_layouts_change_nothing(
    seed: int, n_classes: int, logits: bool, exact: bool, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.dirichlet(np.full(n_classes, 0.3), 300), rng.integers(0, n_classes, 300)
    scores = np.log(scores + 1e-9) if logits else scores
    whole = Tally.from_scores(scores, labels, grid=not exact), Tally.from_target(scores)
    order = rng.permutation(300)
    layouts: dict[str, Callable[..., NDArray[Any]]]
    layouts = {"rows": np.ascontiguousarray, "columns": np.asfortranarray, "strided": strided}
    layout = layouts[data.draw(st.sampled_from(sorted(layouts)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counter, "PIECE_VALUES", data.draw(st.integers(1, 9000)))
        patch.setattr(counter, "BLOCK_VALUES", data.draw(st.integers(1, 20_000)))
        patch.setattr(stores, "MAX_PENDING_KEYS", data.draw(st.integers(1, 500)))
        patch.setattr(stores, "ROWS_PER_SLICE", data.draw(st.integers(1, 5)))
        patch.setattr(stores, "ROWS_PER_RANGE", data.draw(st.integers(1, 5)))
        patch.setattr(parallel, "cores", lambda: 3)
        mixed = layout(scores[order])
        assert Tally.from_scores(mixed, labels[order], grid=not exact) == whole[0]
        assert Tally.from_target(mixed) == whole[1]
    assert (whole[0].soft is None) == logits
    assert (whole[1].bins is None) == (logits or n_classes > MAX_BINNED_CLASSES)


@pytest.mark.parametrize("score", ["aps", "raps"])
@pytest.mark.parametrize("engine", ["memory", "arrow"], indirect=True)
def test_a_randomised_score_depends_on_its_row_alone(engine: Engine, score: str) -> None:
    scores, labels = drawn(500, 4, "float64")
    own = np.array([TRANSFORMS[score].apply(scores[[r]])[0, labels[r]] for r in range(500)])
    tally = engine(scores, labels, score=score)
    for label in range(4):
        values, counts = np.unique(to_grid(own[labels == label]), return_counts=True)
        part = slice(tally.starts[label], tally.starts[label + 1])
        assert tally.values[part].tolist() == values.tolist()
        assert tally.counts[part].tolist() == counts.tolist()


def test_every_matrix_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[int] = []

    def watched(scores: Any, **how: Any) -> Iterator[Any]:
        for rows, block in read_blocks(scores, **how):
            walked.append(len(block))
            yield rows, block

    monkeypatch.setattr(counter, "read_blocks", watched)
    scores, labels = drawn(700, 6, "float64")
    Tally.from_target(scores)
    assert sum(walked) == 700
    Tally.from_scores(scores, labels)
    assert sum(walked) == 1400
    calibrate(scores / scores.sum(axis=1, keepdims=True), labels, method="PS")
    assert sum(walked) == 2100


@pytest.mark.parametrize("n_classes", [2, 12, 13, 300])
def test_the_first_of_equal_scores_is_predicted(n_classes: int) -> None:
    scores = np.random.default_rng(0).integers(0, 3, (200, n_classes)) / 2
    for block in (scores, np.asfortranarray(scores), scores.astype(np.float32)):
        predicted: Any = np.empty(200, np.uint8 if n_classes <= 12 else np.int64)
        top = np.empty(200, block.dtype)
        top_scores(block, predicted, top)
        assert predicted.tolist() == [row.index(max(row)) for row in scores.tolist()]
        assert top.tolist() == scores.max(axis=1).tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n_classes", [3, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counting_stops_where_a_score_is_not_finite(
    bad: float, n_classes: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter, "PIECE_VALUES", 2 * n_classes)
    block = np.full((5, n_classes), 0.5, dtype)
    assert Counts(n_classes, CountOptions(), labelled=False).count(block, None) == 5
    for place, before in (((0, 0), 0), ((2, 1), 2), ((4, n_classes - 1), 4)):
        spoilt = block.copy()
        spoilt[place] = bad
        for layout in (np.ascontiguousarray, np.asfortranarray):
            total = Counts(n_classes, CountOptions(), labelled=True)
            assert total.count(layout(spoilt), np.zeros(5, np.int64)) == before
            assert total.cells.n_rows == before
        with pytest.raises(InputError, match=rf"1 row has NaN or infinite scores, the first is row {place[0]}"):
            Tally.from_target(spoilt)


@pytest.mark.thorough
def test_ten_thousand_classes_need_no_square_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cells, "table", refuse_squares(Cells.table))
    rng = np.random.default_rng(0)
    n_classes, labels = 10_000, rng.integers(0, 10_000, 60)
    scores = rng.random((60, n_classes), np.float32) / n_classes
    scores[np.arange(60), labels] += 0.5
    tally = Tally.from_scores(scores, labels) + Tally.from_target(scores)
    tally.save(tmp_path / "many.tally")
    assert (tmp_path / "many.tally").stat().st_size < 8_000_000
    again = Tally.load(tmp_path / "many.tally") + tally
    assert (again.n_source, again.n_target, again.class_counts.sum(), again.target.sum()) == (120, 120, 120, 120)
    for method in ("PS", "PS-LW", "LWCP", "PS-LP"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # two rows per class say little
            made = calibrate(again, epsilon=0.1, delta=0.1, method=method)
        assert made.trivial == (method != "PS"), method


def refuse_squares(table: Callable[[Cells, int], Any]) -> Callable[[Cells, int], Any]:
    def guarded(cells: Cells, n_classes: int) -> Any:
        assert cells.n_labels == 1, "a dense table of K x K was made"
        return table(cells, n_classes)

    return guarded
