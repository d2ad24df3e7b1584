"""Two hundred requests whose answers must not change while the house is rebuilt.

Each answer is reduced to two hashes: of its very bits, and of its numbers to six digits. `test_golden.py` compares
the second, so that another processor or solver may round differently; by hand the first is compared as well:

    PYTHONPATH=tests python -m golden            # which answers changed, bit for bit
    PYTHONPATH=tests python -m golden --write    # accept them (tests/files/golden.json); --spark: those as well
    PYTHONPATH=tests python -m golden --shown F  # write the answers themselves, to compare two versions

Times, commits, seals, versions and the hashes of files are left out. So are texts: they are tested where they are
written.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from typer.testing import CliRunner

import pacshift
from flat import flat
from pacshift import Certificate, LabelSheet, Population, Rows, Tally
from pacshift.cli import app
from pacshift.files.codec import record

RECORD = Path(__file__).parent / "files" / "golden.json"
NAMES = np.array(["a", "b", "c"], object)
METHODS = ("PS-LP", "PS-W", "PS-C", "PS-LW", "PS", "APS", "WCP", "PS-R", "LWCP")
SCORES = ("aps", "raps", "margin")
PASSING_FIELDS = """
created code checksum sha256 version pacshift_version solver command certificate in_words sheet method_facts
finding noticeable note notes reasons groups text evidence changed first_step next_steps error message question
file log answers
"""
PASSING = set(PASSING_FIELDS.split())

Request = Callable[[], object]


# -- data ------------------------------------------------------------------------------------------


def logits(scores: Any) -> Any:
    return np.round(np.log(np.clip(scores, 1e-9, 1)), 5) + 0.5


@cache
def data() -> dict[str, Any]:
    """3,000 source rows, 2,500 target rows (a quarter of them with labels), 900 labelled ones to check."""
    population = Population.synthetic(3, strength=3, rng=0)
    found: dict[str, Any] = {}
    draws = (
        ("s", [0.6, 0.3, 0.1], 3000, 1200),
        ("t", [0.2, 0.3, 0.5], 2500, 1100),
        ("l", [0.2, 0.3, 0.5], 900, 500),
    )
    rng = np.random.default_rng(5)
    for seed, (name, mix, size, n_groups) in enumerate(draws, start=1):
        scores, labels = population.draw(mix, size, rng=seed)
        scores = np.round(scores, 6)
        found[name] = scores / scores.sum(axis=1, keepdims=True)
        found[f"{name} labels"] = NAMES[labels]
        found[f"{name} groups"] = rng.integers(0, n_groups, size)
    found["t some"] = np.where(rng.random(2500) < 0.25, found["t labels"], None)
    other, _ = population.draw([0.2, 0.3, 0.5], 2500, rng=9)
    found["refuted"] = other[:, [1, 0, 2]]
    return found


def write_tables() -> None:
    """Files with the rows of `data`: scores (s, t, l), logits (sl, ...), with unusable rows (sb, ...)."""
    rows = data()

    def table(
        path: str, scores: Any, label: Any = None, group: Any = None, some: Any = None, lacking: Any = ()
    ) -> None:
        scores = scores.copy()
        for row in lacking:
            scores[row, row % 3] = np.nan
        columns = {f"p_{name}": scores[:, k] for k, name in enumerate(NAMES)}
        for name, labels in (("label", label), ("truth", some)):
            if labels is not None:
                columns[name] = pa.array(labels.tolist(), pa.string())
        if group is not None:
            columns["patient_id"] = group
        if path.endswith(".csv"):
            pa.csv.write_csv(pa.table(columns), path)
        else:
            pq.write_table(pa.table(columns), path, row_group_size=700)

    lacking = {"s": (3, 70, 1500), "t": (5, 2000), "l": (1,)}
    for kind in ("parquet", "csv"):
        for name in ("s", "t", "l"):
            labels = None if name == "t" else rows[f"{name} labels"]
            others = (labels, rows[f"{name} groups"], rows["t some"] if name == "t" else None)
            table(f"{name}.{kind}", rows[name], *others)
            table(f"{name}l.{kind}", logits(rows[name]), *others)
            table(f"{name}b.{kind}", rows[name], *others, lacking=lacking[name])
    some, groups = rows["t some"], rows["t groups"]
    table("t1.parquet", rows["t"][:1200], None, groups[:1200], some[:1200])
    table("t2.parquet", rows["t"][1200:], None, groups[1200:], some[1200:])
    table("tt.parquet", rows["t"], rows["t labels"], groups)
    table("r.parquet", rows["refuted"], None, groups, some)
    # Whole row groups without one usable row.
    table("hole.parquet", rows["s"], rows["s labels"], rows["s groups"], lacking=range(700, 1400))
    table("holet.parquet", rows["t"], None, groups, some, lacking=range(700))
    table("s32.parquet", rows["s"].astype("f4"), rows["s labels"])
    table("t32.parquet", rows["t"].astype("f4"))
    sheet(rows["t"]).save("sheet.csv")
    sheet(Rows(rows["t"], groups=groups)).save("sheetg.csv")
    sheet(rows["t"].astype("f4")).save("sheet32.csv")
    base().save("base.json")
    softmaxed().save("soft.json")


def sheet(scores: Any, **options: Any) -> LabelSheet:
    """A label sheet for the target, its first 200 rows filled in."""
    made = pacshift.label_sheet(scores, budget=300, looks=(150,), rng=3, **options)
    return made.with_labels([data()["t labels"][row] for row in made.rows[:200].tolist()])


@cache
def base() -> Certificate:
    rows = data()
    return pacshift.calibrate(rows["s"], rows["s labels"], rows["t"], classes=list(NAMES))


@cache
def softmaxed() -> Certificate:
    rows = data()
    return pacshift.calibrate(
        logits(rows["s"]), rows["s labels"], logits(rows["t"]), softmax=True, classes=list(NAMES)
    )


# -- answers ------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """An answer as JSON, without what changes from run to run."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items() if key not in PASSING}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(value).hex() if np.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def rounded(value: Any) -> Any:
    """The same, with floats to six digits."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, str) and re.fullmatch(r"-?0x[01]\.[0-9a-f]+p[+-]\d+", value):
        return f"{float.fromhex(value):.5e}"
    return value


def hashed(answer: Any) -> str:
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]


def file_of(certificate: Certificate) -> object:
    with tempfile.TemporaryDirectory() as folder:
        certificate.save(Path(folder) / "c.json")
        return json.loads((Path(folder) / "c.json").read_text(encoding="utf-8"))


def command(words: str) -> list[Any]:
    """Exit code and JSON of a command; of one that fails, the code alone."""
    result = CliRunner().invoke(app, words.split())
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    try:
        return [result.exit_code, json.loads(result.stdout)]
    except ValueError:
        return [result.exit_code, "" if result.exit_code else result.stdout]


def counts_of(tally: Tally) -> object:
    soft, cells = tally.soft, (tally.source_cells, tally.target_cells)
    return {
        "cells": [part for one in cells for part in (one.codes, one.counts)],
        "scores": [tally.values, tally.counts, tally.starts, tally.bins],
        "soft": None if soft is None else [getattr(soft, name) for name in soft.__dataclass_fields__],
        "inputs": [record(type(one)).write(one) for one in tally.inputs],
        "grouped": [one and record(type(one)).write(one) for one in (tally.source_grouped, tally.target_grouped)],
        "kind": [tally.softmax, tally.grid],
    }


def shares_of(found: Any) -> object:
    names = ("classes", "delta", "class_counts", "predicted_counts", "accuracy", "accuracy_at_most")
    ends = [(one.lower, one.upper) for one in (found.mix, found.weights, found.recall)]
    return [*(getattr(found, name) for name in names), ends]


def compared(found: Any) -> object:
    rows = [(one.method, one.guarantee, one.size, one.empty, one.error, one.trivial) for one in found.rows]
    kept = [None if one is None else one.thresholds for one in found.certificates]
    return [rows, kept]


def checked(found: Any) -> object:
    counts = found.evaluation
    shown = [found.verdict, found.lower, found.upper]
    return [*shown, counts.n, counts.class_error, counts.class_size, counts.one_label_error]


def verified(found: Any) -> object:
    return [found.verdict, len(found.differences), len(found.provenance_differences), len(found.unverified)]


def sheet_of(found: LabelSheet) -> object:
    return [found.rows, found.looks, found.n_pilot, found.seed, found.n_target, found.target_sha256, found.kept]


def numbers_of(found: Any) -> object:
    return {key: one for key, one in vars(found).items() if isinstance(one, int | float | np.ndarray | tuple)}


# -- requests ------------------------------------------------------------------------------------------


def asking(verb: Callable[..., Any], shown: Callable[[Any], object], **always: Any) -> Callable[..., Request]:
    """Requests to a verb, that answer with what `shown` makes of its result."""

    def ask(*given: Any, **options: Any) -> Request:
        return lambda: shown(verb(*given, **{**always, **options}))

    return ask


def counted(table: Any, *, grid: bool | None = None, sha256: bool = False, **reading: Any) -> Tally:
    return pacshift.read(table, **reading).tally(grid=grid, sha256=sha256)


def whole_groups(groups: Any, labels: Any) -> list[Any]:
    """The labels of all rows of every fourth group."""
    names = sorted(set(groups.tolist()))[::4]
    return [
        label if group in names else None for group, label in zip(groups.tolist(), labels.tolist(), strict=True)
    ]


def in_memory() -> Iterator[tuple[str, Request]]:
    rows = data()
    S, ys, T = rows["s"], rows["s labels"], rows["t"]
    L, yl, some = rows["l"], rows["l labels"], rows["t some"]
    logits_s, logits_t = logits(S), logits(T)
    single: dict[str, Any] = {"softmax": True, "epsilon": 0.05}
    groups: dict[str, Any] = {"groups": rows["s groups"], "target_groups": rows["t groups"]}
    named: dict[str, Any] = {"classes": list(NAMES)}
    known: dict[str, Any] = {"known_mix": {"c": (0.1, 0.9)}}
    lacking = S.copy()
    lacking[7, 1] = np.nan

    calibrate = asking(partial(flat, pacshift.calibrate), file_of, **named)
    for method in METHODS:
        yield f"calibrate {method}", calibrate(S, ys, T, method=method)
        request = calibrate(logits_s.astype("f4"), ys, logits_t.astype("f4"), method=method, **single)
        yield f"calibrate {method} softmax float32", request
        yield f"calibrate {method} groups seed", calibrate(S, ys, T, method=method, rng=7, **groups)
    options: dict[str, dict[str, Any]] = {f"score {score}": {"score": score} for score in SCORES}
    options |= {
        "ORACLE": {"method": pacshift.Oracle(weights=[0.3, 1.0, 5.0])},
        "PS-W strict": {"method": pacshift.PSW(intervals="strict")},
        "PS-W elimination": {"method": pacshift.PSW(intervals="elimination")},
        "PS-W class": {"method": pacshift.PSW(worst_case="class")},
        "groups of the source": {"groups": rows["s groups"]},
        "target labels": {"target_labels": some},
        "PS-T": {"target_labels": some, "method": "PS-T"},
        "target labels aps": {"target_labels": some, "score": "aps"},
        "sheet": {"labelled": sheet(T)},
        "sheet groups": {"labelled": sheet(Rows(T, groups=rows["t groups"])), **groups},
    }
    each: tuple[dict[str, Any], ...] = ({"class_epsilon": 0.2}, {"contamination": 0.01}, known)
    options |= {str(option): option for option in each}
    options["all options"] = {"epsilon": 0.05} | each[0] | each[1] | each[2]
    for name, option in options.items():
        yield f"calibrate {name}", calibrate(S, ys, T, **option)
    of_groups = whole_groups(rows["t groups"], rows["t labels"])
    request = calibrate(logits_s, ys, logits_t, softmax=True, target_labels=of_groups, **groups)
    yield "calibrate target labels groups softmax", request
    yield "calibrate without target", calibrate(S, ys, None, method="PS-LW")
    yield "calibrate NaN", calibrate(lacking, ys, T)
    yield "calibrate NaN groups", calibrate(Rows(lacking, ys, groups=rows["s groups"]), T)
    yield "calibrate refuted", calibrate(S, ys, rows["refuted"])
    yield "calibrate refuted labels", calibrate(S, ys, Rows(rows["refuted"], some))
    yield "calibrate sheet of another target", calibrate(S, ys, T[::-1], labelled=sheet(T))
    S32, T32 = S.astype("f4"), T.astype("f4")
    yield "calibrate sheet float32", calibrate(S32, ys, T32, labelled=sheet(T32))

    accept = asking(partial(flat, pacshift.accept), file_of, error=0.1, **named)
    yield "accept", accept(S, ys, T)
    yield "accept limits", accept(S, ys, T, label_error=0.2)
    yield "accept target labels groups", accept(S, ys, T, target_labels=of_groups, **groups)
    yield "accept sheet", accept(S, ys, T, labelled=sheet(T))

    both = Tally.from_scores(S, ys, **named) + Tally.from_target(T, **named)
    grid = Tally.from_scores(S, ys, grid=True, **named) + Tally.from_target(T, **named)
    for name, tally in (("exact", both), ("grid", grid)):
        yield f"tally {name}", lambda: counts_of(tally)
        yield f"tally {name} prevalence", asking(pacshift.prevalence, shares_of)(tally)
        for method in METHODS:
            yield f"tally {name} {method}", asking(pacshift.calibrate, file_of)(tally, method=method)
    verify = asking(pacshift.verify, verified)
    yield "tally verify", verify(pacshift.calibrate(grid), grid)

    shares = asking(partial(flat, pacshift.prevalence), shares_of, **named)
    yield "prevalence", shares(S, ys, T)
    yield "prevalence target labels", shares(S, ys, T, target_labels=some)
    yield "prevalence groups", shares(S, ys, T, **groups)
    yield "prevalence softmax known", shares(logits_s, ys, logits_t, softmax=True, **known)
    yield "prevalence NaN", shares(S, ys, lacking)
    yield "prevalence unknown label", shares(S, np.where(ys == "c", "d", ys), T)

    check = asking(pacshift.check, checked)
    yield "check", check(base(), L, yl)
    yield "check sets", check(base(), base().sets(L), yl)
    yield "check groups", check(base(), Rows(L, yl, groups=rows["l groups"]))
    yield "check softmax groups", check(softmaxed(), Rows(logits(L), yl, groups=rows["l groups"]))
    yield "check logits instead", check(base(), logits(L), yl)
    frame = pa.table({"id": range(len(L)), "c": L[:, 2], "b": L[:, 1], "a": L[:, 0]}).to_pandas()
    yield "check frame", check(base(), frame, yl)

    compare = asking(partial(flat, pacshift.compare), compared, **named)
    yield "compare", compare(S, ys, T)
    options_of_labels: dict[str, Any] = {"target_labels": rows["t labels"], "methods": ["PS-LP", "PS-LW", "APS"]}
    yield "compare labels groups", compare(S, ys, T, **options_of_labels, **groups)
    yield "compare softmax", compare(logits_s, ys, logits_t, softmax=True, methods=["PS-LP", "PS-W"])

    designs: dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]] = {
        "plain": (S, T, {}, {}),
        "groups": (S, T, groups, {}),
        "softmax": (logits_s, logits_t, {}, {"softmax": True}),
        "labels": (S, T, {"target_labels": some}, {}),
        "labels groups": (S, T, {"target_labels": of_groups, **groups}, {}),
    }
    for name, (scores, target, again, once) in designs.items():
        made = flat(pacshift.calibrate, scores, ys, target, **named, **again, **once)
        yield (
            f"verify {name}",
            asking(partial(flat, partial(pacshift.verify, made)), verified)(scores, ys, target, **again),
        )
    yield "verify another target", verify(base(), S, ys, T[:-1])

    label = asking(pacshift.label_sheet, sheet_of, budget=300, rng=3)
    yield "label", label(T, looks=(150,))
    yield "label groups", label(Rows(T, groups=rows["t groups"]), keep={"id": rows["t groups"]})
    yield "sets", lambda: base().sets(T)
    yield "sets softmax float32", lambda: softmaxed().sets(logits_t.astype("f4"))
    yield "predictor", lambda: [base().predictor().sets(row) for row in T[:50]]
    plan = asking(pacshift.plan, numbers_of, target_mix=[0.2, 0.3, 0.5], **named)
    yield "plan", plan(S, ys, n_source=500, n_target=500)


def on_tables() -> Iterator[tuple[str, Request]]:
    files = {"s.parquet": "label", "s.csv": "label", "t.parquet": None, "sb.csv": "label", "hole.parquet": "label"}
    designs: tuple[dict[str, Any], ...] = ({}, {"group": "patient_id"}, {"grid": False, "sha256": True})
    tally = asking(counted, counts_of, drop_invalid=1.0)
    for file, label in files.items():
        for options in designs:
            yield f"tally {file} {options}", tally(file, label=label, **options)
    yield "tally of a frame", tally(pq.read_table("sb.parquet"), label="label")
    draw = asking(pacshift.label_sheet, sheet_of, budget=300, rng=3, keep=["truth"])
    for file in ("t.parquet", "t.csv", "tb.csv", "holet.parquet"):
        for group in (None, "patient_id"):
            yield f"label {file} {group}", draw(pacshift.read(file, group=group, drop_invalid=1.0))
    written: dict[str, tuple[str, dict[str, Any]]] = {
        "": ("t.parquet", {}),
        "drop": ("tb.csv", {"drop_invalid": True}),
        "keep invalid": ("holet.parquet", {"keep_invalid": True}),
        "bad": ("tb.csv", {}),
    }
    for name, (file, options) in written.items():
        yield f"sets {name}", lambda: _written(file, **options)


def _written(file: str, **options: Any) -> object:
    Path("w.csv").unlink(missing_ok=True)
    found = pacshift.write_sets(base(), file, "w.csv", keep=["patient_id"], **options)
    return [found.n_rows, found.n_dropped, found.n_invalid, found.set_sizes, Path("w.csv").read_text("utf-8")]


OF_EACH_KIND = """
calibrate KIND: calibrate s.KIND t.KIND
calibrate group KIND: calibrate s.KIND t.KIND --group patient_id
calibrate softmax KIND: calibrate sl.KIND tl.KIND --softmax -e 0.05
calibrate drop KIND: calibrate sb.KIND tb.KIND --drop-invalid 0.05
calibrate drop group KIND: calibrate sb.KIND tb.KIND --drop-invalid 0.05 --group patient_id
calibrate target label KIND: calibrate s.KIND t.KIND --target-label truth
calibrate bad KIND: calibrate sb.KIND tb.KIND
accept KIND: accept s.KIND t.KIND --error 0.1
accept target label KIND: accept s.KIND t.KIND --error 0.1 --target-label truth
prevalence KIND: prevalence s.KIND t.KIND
prevalence group KIND: prevalence s.KIND t.KIND --group patient_id
prevalence softmax KIND: prevalence sl.KIND tl.KIND --softmax
prevalence drop KIND: prevalence sb.KIND tb.KIND --drop-invalid 0.05
check KIND: check base.json l.KIND
check group KIND: check base.json l.KIND --group patient_id
check softmax KIND: check soft.json ll.KIND
check drop KIND: check base.json lb.KIND --drop-invalid 0.05
compare drop KIND: compare sb.KIND tb.KIND --drop-invalid 0.05
"""
OTHERS = """
calibrate target label group: calibrate BOTH --target-label truth --group patient_id --labels-per row
calibrate target label softmax: calibrate sl.parquet tl.parquet --target-label truth --softmax
calibrate two targets: calibrate s.parquet t[12].parquet
calibrate all options: calibrate BOTH --class-epsilon 0.2 --contamination 0.01 --known c=0.1..0.9 --never-empty
calibrate without target: calibrate s.parquet -m PS-LW
calibrate without target PS-LP: calibrate s.parquet
calibrate float32: calibrate s32.parquet t32.parquet
calibrate hole: calibrate hole.parquet holet.parquet --drop-invalid 1
calibrate hole labels: calibrate hole.parquet holet.parquet --drop-invalid 1 --target-label truth
calibrate sheet: calibrate BOTH --labelled sheet.csv
calibrate sheet group: calibrate BOTH --labelled sheetg.csv --group patient_id
calibrate sheet float32: calibrate s32.parquet t32.parquet --labelled sheet32.csv
calibrate sheet of another target: calibrate s.parquet t1.parquet --labelled sheet.csv
calibrate refuted: calibrate s.parquet r.parquet
calibrate refuted group: calibrate s.parquet r.parquet --class-epsilon 0.2 --group patient_id
calibrate refuted labels: calibrate s.parquet r.parquet --target-label truth
check hole: check base.json hole.parquet --drop-invalid 1
check logits instead: check base.json ll.csv
compare: compare BOTH
compare labels: compare s.parquet tt.parquet --target-label label
compare group softmax: compare sl.parquet tl.parquet --softmax --group patient_id
prevalence two targets: prevalence s.parquet t[12].parquet --known c=0..0.9
verify made in memory: verify base.json BOTH
plan: plan s.csv --target-mix a=0.2,b=0.3,c=0.5 --n-source 500 --n-target 500
"""
VERIFIED = """
plain: BOTH | BOTH
csv against parquet: BOTH | s.csv t.csv
group: s.csv t.csv --group patient_id | s.csv t.csv
softmax: sl.csv tl.csv --softmax | sl.csv tl.csv
drop: sb.csv tb.csv --drop-invalid 0.05 | sb.csv tb.csv
labels: BOTH --target-label truth | BOTH --target-label truth
labels missing: BOTH --target-label truth | BOTH
sheet: BOTH --labelled sheet.csv | BOTH --labelled sheet.csv
"""


def as_commands() -> Iterator[tuple[str, Request]]:
    def lines(text: str) -> Iterator[list[str]]:
        text = text.replace("BOTH", "s.parquet t.parquet").strip()
        return (line.split(": ", 1) for line in text.splitlines())

    def asked(words: str) -> list[Any]:
        writes = words.startswith(("calibrate", "accept"))
        return command(f"{words}{' -o c.json --force' if writes else ''} --json")

    def written(words: str, out: str) -> list[Any]:
        return [asked(f"{words} -o {out} --force"), Path(out).read_text("utf-8")]

    methods = "\n".join(f"calibrate {method}: calibrate s.parquet t.parquet -m {method}" for method in METHODS)
    kinds = "".join(OF_EACH_KIND.replace("KIND", kind) for kind in ("parquet", "csv")).replace("\n\n", "\n")
    for name, words in lines(kinds + OTHERS.lstrip() + methods):
        yield name, lambda: asked(words)
    for name, words in lines(VERIFIED):
        made, again = words.split(" | ")
        yield f"verify {name}", lambda: [asked(f"calibrate {made}"), asked(f"verify c.json {again}")[1]]
    for kind in ("parquet", "csv"):
        yield f"tally {kind}", lambda: [_counted(f"s.{kind} --label label"), _counted(f"t.{kind}")]
    for name, words in (("", " --keep patient_id"), (" softmax", " --softmax"), (" group", " --group patient_id")):
        file = "tl.parquet" if "softmax" in words else "t.parquet"
        yield f"label{name}", lambda: written(f"label {file}{words} -b 300 --seed 3", "lab.csv")
    yield "predict", lambda: written("predict base.json tb.csv --drop-invalid 0.05", "p.csv")


def _counted(words: str) -> object:
    command(f"tally {words} -o x.tally --force")
    return counts_of(Tally.load("x.tally"))


def of_the_monitor() -> Iterator[tuple[str, Request]]:
    yield "monitor a year", _year
    yield "monitor two runs", _two_runs


def _year() -> object:
    """Twelve months of 400 rows, whose mix moves."""
    rows = data()
    population = Population.synthetic(3, strength=3, rng=0)
    watch = pacshift.Monitor(Tally.from_scores(rows["s"], rows["s labels"], classes=list(NAMES)))
    found = []
    for month in range(12):
        share = 0.1 + 0.05 * month
        scores, _ = population.draw([0.7 - share, 0.3, share], 400, rng=100 + month)
        report = watch.update(scores, f"2026-{month + 1:02}")
        shown = [report.number, report.rows, report.delta, report.verdict, report.error]
        shown += [report.fresh_size, report.size, report.empty, report.in_use_number]
        found.append([*shown, None if report.fresh is None else report.fresh.thresholds])
    return found


def _two_runs() -> object:
    shutil.rmtree("state", ignore_errors=True)
    runs = ("t1.parquet", "t1.parquet t2.parquet")
    return [command(f"monitor s.parquet {files} --state state --json --force") for files in runs]


def on_spark() -> Iterator[tuple[str, Request]]:
    """Needs a session, or starts one on this machine."""
    from pyspark.sql import SparkSession

    from pacshift.rows.spark import predict_sets

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.getOrCreate()

    def read(file: str) -> Any:
        return session.read.parquet(str(Path(file).absolute()))

    tally = asking(counted, counts_of, drop_invalid=True)
    for file, label in (("s.parquet", "label"), ("sb.parquet", "label"), ("t.parquet", None)):
        for group in (None, "patient_id"):
            yield f"tally {file} {group}", tally(read(file), label=label, group=group)
    sets = asking(predict_sets, lambda made: sorted([plain(one) for one in row] for row in made.collect()))
    yield "sets", sets(read("t.parquet"), base(), keep=["p_a"])
    for words in ("s.parquet --label label", "tl.parquet --softmax --group patient_id"):
        yield f"tally {words}", lambda: command(f"tally {words} --engine spark -o c.tally --force --json")


PLANES: dict[str, Callable[[], Iterator[tuple[str, Request]]]] = {
    "memory": in_memory,
    "tables": on_tables,
    "commands": as_commands,
    "monitor": of_the_monitor,
    "spark": on_spark,
}
QUICK = ("memory", "tables", "commands", "monitor")


def answers(*planes: str) -> dict[str, Any]:
    """What every request of these planes gives; a refusal is its class."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_tables()
        for plane in planes:
            for name, request in PLANES[plane]():
                try:
                    found[f"{plane}: {name}"] = plain(request())
                except pacshift.PacshiftError as error:
                    found[f"{plane}: {name}"] = type(error).__name__
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="accept the answers of today")
    parser.add_argument("--shown", metavar="FILE", help="write the answers themselves")
    parser.add_argument("--spark", action="store_true", help="those on Spark as well")
    asked = parser.parse_args()
    found = answers(*(PLANES if asked.spark else QUICK))
    if asked.shown:
        Path(asked.shown).write_text(json.dumps(found, indent=1), encoding="utf-8")
    now = {name: [hashed(answer), hashed(rounded(answer))] for name, answer in found.items()}
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    now = {name: hashes for name, hashes in before.items() if name.startswith("spark") and not asked.spark} | now
    if asked.write:
        lines = [f"{json.dumps(name)}: {json.dumps(hashes)}" for name, hashes in sorted(now.items())]
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    print(f"{len(now)} requests, {len(changed)} changed", *changed, sep="\n  ")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
