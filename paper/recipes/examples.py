"""Figure 1 of the paper (fig:example): concrete rows with their sets, before and after the shift."""

import base64
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.files.writing import atomic_write
from pacshift.words.numbers import percent
from paper.experiments.datasets import Dataset
from paper.experiments.panels import Panel
from paper.experiments.summary import markdown_table, render
from paper.experiments.trial import AS_PUBLISHED, Draw, Experiment, thresholds_of
from paper.recipes.raw import READERS, BoolArray, RawData

METHODS = ("PS", "PS-W", "PS-LP")
RULE = (
    "The rows are chosen by a rule, not by hand, from the target's test rows of the first trial, in the order in "
    "which they were drawn: first every row as it comes, then those whose true label is not in the set of PS."
)
SOME = " Only {some:,} of the {all:,} scored images are at hand; the others are passed over."


@dataclass(frozen=True)
class Case:
    """One row: its content, its true label and the labels of each set."""

    row_id: str
    content: str
    """A text, or an image as a data URL."""
    is_image: bool
    label: str
    missed_by_ps: bool
    """Chosen because PS leaves its true label out."""
    sets: tuple[tuple[str, ...], ...]
    """One per column of the table."""


@dataclass(frozen=True)
class MethodRun:
    """One method, calibrated before or after the shift, with its error and size on all test rows."""

    method: str
    when: str
    error: float
    size: float

    @property
    def title(self) -> str:
        """What the table's head says."""
        return f"{self.method}, {self.when} the shift"


def write_examples(
    panel: Panel,
    out: str | os.PathLike[str],
    *,
    n_examples: int = 6,
    raw: str | os.PathLike[str] | None = None,
    seed: int = 0,
    data_dir: str | None = None,
    scores_file: str | None = None,
) -> Path:
    """Write a page of concrete cases: content, true label and sets before and after the shift.

    Parameters
    ----------
    panel : Panel
        The experiment whose first trial is shown.
    out : path
        Folder for ``examples-PANEL.html`` and ``examples-PANEL.md``. Images are only in the first.
    n_examples : int
        Rows of each of the two kinds: as they come, and missed by PS.
    raw : path, optional
        The raw data; default: where the scores file says they were.
    seed : int
        The seed of the experiment.
    data_dir : str, optional
        Folder of real scores; default: ``PACSHIFT_DATA``, else what the package ships.
    scores_file : str, optional
        A scores file, used instead of the panel's data set.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    InputError
        If the scores do not say which raw rows they belong to, or the raw data are not found.

    Examples
    --------
    >>> from paper.experiments import select_panels
    >>> write_examples(select_panels(["agnews-0.05"])[0], "out", n_examples=0)
    Traceback (most recent call last):
    ...
    pacshift.errors.InputError: the number of examples must be at least 1, got 0.
    """
    if n_examples < 1:
        raise InputError(f"the number of examples must be at least 1, got {n_examples}.")
    after = Draw(Experiment(panel, seed, False, data_dir, scores_file), trial=0)
    rows = _RawRows(after.base, raw)
    shown, missed_from = choose_rows(after, n_examples, rows.at_hand)
    thresholds = _all_thresholds(panel, after)
    columns = tuple(MethodRun(*key, *after.measure("probability", cuts)[:2]) for key, cuts in thresholds.items())
    sets = [after.base.probs[shown] >= cuts for cuts in thresholds.values()]
    cases = tuple(
        rows.case(int(row), tuple(found[place] for found in sets), missed_by_ps=place >= missed_from)
        for place, row in enumerate(shown)
    )
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    introduction = _introduction(panel, after.base, columns)
    if rows.at_hand is not None:
        introduction[-1] += SOME.format(some=int(rows.at_hand.sum()), all=len(rows.at_hand))
    with atomic_write(folder / f"examples-{panel.name}.md") as draft:
        draft.write_text(markdown(introduction, columns, cases), encoding="utf-8")
    path = folder / f"examples-{panel.name}.html"
    content = {"panel": panel, "introduction": introduction, "columns": columns, "cases": cases}
    with atomic_write(path) as draft:
        draft.write_text(render("paper.recipes", "examples.html", content), encoding="utf-8")
    return path


def choose_rows(draw: Draw, n_examples: int, at_hand: BoolArray | None = None) -> tuple[IntArray, int]:
    """The first test rows, then the first that PS misses; the second number says where those begin."""
    ps = thresholds_of(draw, AS_PUBLISHED["PS"], "probability")
    distinct = np.array(list(dict.fromkeys(draw.test.tolist())))  # rows are drawn with replacement
    distinct = distinct if at_hand is None else distinct[at_hand[distinct]]
    first = distinct[:n_examples]
    others = distinct[n_examples:]
    is_in = (draw.base.probs[others] >= ps)[np.arange(len(others)), draw.base.labels[others]]
    missed = others[~is_in][:n_examples]
    return np.concatenate([first, missed]), len(first)


def _all_thresholds(panel: Panel, after: Draw) -> dict[tuple[str, str], FloatArray]:
    """PS never looks at the target, so it has one column; the others are calibrated before and after the shift."""
    unshifted = replace(after.experiment, panel=replace(panel, target_mix=panel.source_mix))
    before = Draw(unshifted, trial=0)
    found = {("PS", "before and after"): thresholds_of(after, AS_PUBLISHED["PS"], "probability")}
    for name in METHODS[1:]:
        for when, draw in (("before", before), ("after", after)):
            found[name, when] = thresholds_of(draw, AS_PUBLISHED[name], "probability")
    return found


class _RawRows:
    """The raw data behind the scores."""

    def __init__(self, base: Dataset, raw: str | os.PathLike[str] | None) -> None:
        dataset = base.facts.get("dataset", base.name)
        if base.row_ids is None or dataset not in READERS:
            raise InputError(
                f"{base.title}: these scores do not say which raw rows they belong to. "
                "Make them with python -m paper train."
            )
        place = raw or base.facts.get("raw")
        if not place or not Path(place).exists():
            raise InputError(
                f"{base.title}: the raw data are not at {str(place) if place else 'any known place'}. Name their "
                "place with raw=."
            )
        self.base = base
        self.data = READERS[dataset](Path(place))
        self._place = {row_id: place for place, row_id in enumerate(self.data.ids.tolist())}
        self.at_hand: BoolArray | None = None
        """Which images are there, where only some are: a folder of images need not be whole, a table must be."""
        is_there = np.array([row_id in self._place for row_id in base.row_ids.tolist()])
        if self.data.has_files and is_there.any() and not is_there.all():
            self.at_hand = is_there

    def case(self, row: int, sets: Sequence[BoolArray], *, missed_by_ps: bool) -> Case:
        """One row of the scores with its content."""
        assert self.base.row_ids is not None
        row_id = self.base.row_ids[row].item()
        place = self._place.get(row_id)
        if place is None or self.data.labels[place] != self.base.labels[row]:
            raise InputError(
                f"row {row_id!r} of the scores is not in these raw data, or has another label there. "
                "Use the data that the scores were made from."
            )
        content, is_image = _show(self.data, place)
        names = self.base.class_names
        labels = tuple(tuple(np.array(names)[found].tolist()) for found in sets)
        return Case(str(row_id), content, is_image, names[self.base.labels[row]], missed_by_ps, labels)


def _show(data: RawData, place: int) -> tuple[str, bool]:
    """A text, the answers of a survey, or an image as a data URL."""
    content: Any = data.content[place]
    if data.columns:
        return ", ".join(f"{name} {value:g}" for name, value in zip(data.columns, content, strict=True)), False
    if isinstance(content, np.ndarray):
        return _data_url(content), True
    path = Path(content)
    if data.has_files:
        kind = "png" if path.suffix.lower() == ".png" else "jpeg"
        return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}", True
    return str(content), False


def _data_url(pixels: Any) -> str:
    import PIL.Image

    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, "png")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _introduction(panel: Panel, base: Dataset, columns: Sequence[MethodRun]) -> list[str]:
    errors = "; ".join(f"{column.title}: {column.error:.3f} and {column.size:.2f}" for column in columns)
    shares = [
        ", ".join(f"{name} {percent(share)}" for name, share in zip(base.class_names, mix, strict=True))
        for mix in (panel.source_mix, panel.target_mix)
    ]
    return [
        f"Scores: {base.story}. Panel {panel.name}, ε = {panel.epsilon:g}, δ = {panel.delta:g}.",
        f"Label mix before the shift: {shares[0]}. After: {shares[1]}.",
        f"Error and mean size on all {panel.n_test:,} test rows after the shift: {errors}.",
        RULE,
    ]


def markdown(introduction: Sequence[str], columns: Sequence[MethodRun], cases: Sequence[Case]) -> str:
    """The page as Markdown, without images."""
    lines = [f"{line}\n" for line in introduction]
    headings = ["row", "true label", *(column.title for column in columns)]
    for missed, title in ((False, "As they come"), (True, "Missed by PS")):
        shown = [case for case in cases if case.missed_by_ps == missed]
        rows = [[_row(case), case.label, *map(_set, case.sets)] for case in shown]
        lines += [f"**{title}**\n", markdown_table(headings, rows, left=len(headings))]
    return "\n".join(lines)


def _row(case: Case) -> str:
    """The id, with the text if there is one; nothing in it can end a table cell."""
    if case.is_image:
        return case.row_id
    return f"{case.row_id}: {' '.join(case.content.replace('|', '/').replace('<', '&lt;').split())}"


def _set(labels: Sequence[str]) -> str:
    return ", ".join(labels) or "(empty)"
