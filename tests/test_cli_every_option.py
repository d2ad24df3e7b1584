"""Every option of every command changes something, or is refused: none is ignored."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import golden
from commands import all_commands
from pacshift.cli import app

pytestmark = pytest.mark.thorough

BASES = {
    "demo": "demo -o demo",
    "methods": "methods",
    "calibrate": "calibrate s.csv t.csv -o out.json",
    "accept": "accept s.csv t.csv --error 0.3 -o out.json",
    "predict": "predict base.json t.csv -o out.csv",
    "check": "check base.json l.csv",
    "report": "report base.json -o out.html",
    "verify": "verify base.json s.csv t.csv",
    "plan": "plan s.csv --target-mix a=0.2,b=0.3,c=0.5 --n-source 400 --n-target 400 -m PS-LW",
    "label": "label t.csv --budget 90 --seed 1 -o out.csv",
    "compare": "compare s.csv t.csv",
    "prevalence": "prevalence s.csv t.csv",
    "tally": "tally s.csv --label label -o out.tally",
    "monitor": "monitor s.csv t1.parquet t2.parquet -o out.html",
}
"""What is asked for without the option."""

VALUES = {
    "--budget": "80",
    "--certificate": "base.json",
    "--classes": "x,y,z",
    "--class-epsilon": "0.3",
    "--contamination": "0.01",
    "--delta": "0.2",
    "--engine": "spark",
    "--epsilon": "0.2",
    "--error": "0.1",
    "--fail-on": "not-proven",
    "--group": "patient_id",
    "--keep": "patient_id",
    "--known": "c=0.5..0.52",
    "--label": "patient_id",
    "--labelled": "sheet.csv",
    "--level": "0.2",
    "--looks": "50",
    "--drop-invalid": "0.5",
    "--method": "PS-W",
    "--model-id": "net",
    "--n-source": "500",
    "--n-target": "500",
    "--next": "sheet.csv",
    "--note": "after the new scanner",
    "--out": "other.json",
    "--period": "week",
    "--score": "margin",
    "--scores": "p_b,p_a,p_c",
    "--seed": "5",
    "--size": "1.2",
    "--state": "watch",
    "--table": "periods.csv",
    "--target-label": "truth",
    "--target-mix": "a=0.5,b=0.3,c=0.2",
    "--timestamp": "seen",
    "--valid-until": "2099-01-31",
}
"""A value for each option that takes one; {command option: value} where a command needs another."""

SPECIAL = {
    f"{command} {option}": (f"{command} {tables} {words} {rest}", value)
    for command, n_tables, rest in (
        ("calibrate", 2, "-o out.json"),
        ("accept", 2, "--error 0.3 -o out.json"),
        ("compare", 2, ""),
        ("prevalence", 2, ""),
        ("monitor", 2, "-o out.html"),
        ("tally", 1, "--label label -o out.tally"),
        ("label", 1, "--budget 90 --seed 1 -o out.csv"),
    )
    for option, source, target, words, value in (
        ("--by-position", "odd.csv", "oddt.csv", "--scores x* --classes a,b,c", ""),
        ("--classes", "odd.csv", "oddt.csv", "--scores x1,x2,x3 --by-position", "a,b,c"),
        ("--drop-invalid", "sb.csv", "tb.csv", "", "0.5"),
    )
    for tables in (f"{source} {target}" if n_tables == 2 else target if command == "label" else source,)
}
SPECIAL |= {
    "calibrate --force": ("calibrate s.csv t.csv -o base.json", ""),
    "calibrate --never-empty": ("calibrate s.csv t.csv -e 0.4 -o out.json", ""),
    "calibrate --refusal-page": ("calibrate s.csv r.parquet -o out.json", "refused.html"),
    "accept --error": ("accept s.csv t.csv -o out.json", "0.4"),
    "accept --force": ("accept s.csv t.csv --error 0.3 -o base.json", ""),
    "accept --label-error": ("accept s.csv t.csv --error 0.3 -o out.json", "0.5"),
    "accept --refusal-page": ("accept s.csv r.parquet -o out.json", "refused.html"),
    "check --by-position": ("check base.json odd.csv --scores x*", ""),
    "check --scores": ("check base.json odd.csv --by-position", "x1,x2,x3"),
    "check --fail-on": ("check base.json few.csv", "not-proven"),
    "check --drop-invalid": ("check base.json lb.csv", "0.5"),
    "compare --target-label": ("compare s.csv tt.parquet", "label"),
    "demo --out": ("demo", "elsewhere"),
    "label --force": ("label t.csv --budget 90 --seed 1 -o sheet.csv", ""),
    "label --label": ("label --next sheet.csv s.csv t.csv", "patient_id"),
    "label --next": ("label s.csv t.csv", "sheet.csv"),
    "label --seed": ("label t.csv --budget 90 -o out.csv --seed 1", "5"),
    "monitor --adopt": ("monitor s.csv t1.parquet t2.parquet -o out.html --state kept", "t1"),
    "monitor --fail-on": ("monitor s.csv dated.csv -o out.html --timestamp seen --period month", "gap"),
    "monitor --force": ("monitor s.csv t1.parquet -o base.json", ""),
    "monitor --forever": ("monitor s.csv t1.parquet -o out.html --state forever", ""),
    "monitor --model-id": ("monitor s.csv t1.parquet -o out.html --certificate named.json", "other"),
    "monitor --period": ("monitor s.csv dated.csv -o out.html --timestamp seen", "week"),
    "monitor --replace": ("monitor s.csv t1.parquet -o out.html --state replaced", "t1"),
    "monitor --softmax": ("monitor sl.csv tl.csv -o out.html", ""),
    "monitor --timestamp": ("monitor s.csv dated.csv -o out.html", "seen"),
    "plan --force": ("plan s.csv --target-mix a=1,b=1,c=1 --n-source 400 --n-target 400 -m PS-LW -o old.png", ""),
    "plan --n-source": ("plan s.csv --target-mix a=0.2,b=0.3,c=0.5 --n-target 400 -m PS-LW --size 2", "500"),
    "plan --n-target": ("plan s.csv --target-mix a=0.2,b=0.3,c=0.5 --n-source 400 -m PS-LW --size 2", "500"),
    "plan --out": ("plan s.csv --target-mix a=0.2,b=0.3,c=0.5 --n-source 400 --n-target 400 -m PS-LW", "c.png"),
    "plan --size": ("plan s.csv --target-mix a=0.2,b=0.3,c=0.5 --n-source 400 -m PS-LW", "2"),
    "plan --target-mix": ("plan s.csv --n-source 400 --n-target 400 -m PS-LW", "a=0.5,b=0.3,c=0.2"),
    "predict --by-position": ("predict base.json oddt.csv --scores x* -o out.csv", ""),
    "predict --scores": ("predict base.json oddt.csv --by-position -o out.csv", "x1,x2,x3"),
    "predict --drop-invalid": ("predict base.json tb.csv -o out.csv", "0.5"),
    "predict --force": ("predict base.json t.csv -o old.csv", ""),
    "predict --keep-invalid": ("predict base.json tb.csv -o out.csv", ""),
    "report --force": ("report base.json -o old.csv", ""),
    "tally --force": ("tally s.csv --label label -o old.csv", ""),
    "tally --leave-out": ("tally t.csv -o out.tally", "bins"),
    "tally --label": ("tally s.csv -o out.tally", "label"),
    "verify --labelled": ("verify base.json s.csv t.csv", "sheet.csv"),
}
"""Options that show only on other rows: the command without them, and their value."""

COUNTED = {
    "calibrate": "calibrate s.tally t.tally -o out.json",
    "accept": "accept s.tally t.tally --error 0.3 -o out.json",
    "verify": "verify counted.json s.tally t.tally",
    "prevalence": "prevalence s.tally t.tally",
    "monitor": "monitor s.tally t1.tally t2.tally -o out.html",
}
"""The same of tallies, which hold no rows; other commands take none."""

COUNTED_SPECIAL = {
    "calibrate --force": ("calibrate s.tally t.tally -o base.json", ""),
    "calibrate --never-empty": ("calibrate s.tally t.tally -e 0.4 -o out.json", ""),
    "calibrate --refusal-page": ("calibrate s.tally r.tally -o out.json", "refused.html"),
    "accept --error": ("accept s.tally t.tally -o out.json", "0.4"),
    "accept --force": ("accept s.tally t.tally --error 0.3 -o base.json", ""),
    "accept --label-error": ("accept s.tally t.tally --error 0.3 -o out.json", "0.5"),
    "accept --refusal-page": ("accept s.tally r.tally -o out.json", "refused.html"),
    "monitor --adopt": ("monitor s.tally t1.tally t2.tally -o out.html --state counted", "t1"),
    "monitor --fail-on": ("monitor s.tally few.tally -o out.html --certificate base.json", "not-proven"),
    "monitor --force": ("monitor s.tally t1.tally -o base.json", ""),
    "monitor --forever": ("monitor s.tally t1.tally -o out.html --state forever", ""),
    "monitor --model-id": ("monitor s.tally t1.tally -o out.html --certificate named.json", "other"),
    "monitor --replace": ("monitor s.tally t1.tally -o out.html --state counted", "t1"),
}
"""Options that show only on other counts."""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("options"))
    golden.write_tables()
    for file, odd in (("s", "odd"), ("t", "oddt")):
        text = Path(f"{file}.csv").read_text(encoding="utf-8")
        for number, name in enumerate("abc", start=1):
            text = text.replace(f'"p_{name}"', f'"x{number}"')
        Path(f"{odd}.csv").write_text(text, encoding="utf-8")
    few = Path("l.csv").read_text(encoding="utf-8").splitlines()[:41]
    Path("few.csv").write_text("\n".join(few), encoding="utf-8")
    head, *lines = Path("t.csv").read_text(encoding="utf-8").splitlines()
    dated = [f"{line},2026-{(1, 2, 4)[row % 3]:02}-05" for row, line in enumerate(lines)]
    Path("dated.csv").write_text("\n".join([f'{head},"seen"', *dated]), encoding="utf-8")
    for words in (
        "predict base.json t.csv -o old.csv",
        "calibrate s.csv t.csv --model-id net -o named.json",
        "plan s.csv --target-mix a=1,b=1,c=1 --n-source 400 --n-target 400 -m PS-LW -o old.png",
        "monitor s.csv t1.parquet -o kept.html --state kept",
        "monitor s.csv t1.parquet -o replaced.html --state replaced",
        "tally s.csv --label label -o s.tally",
        "tally t.csv -o t.tally",
        "tally t1.parquet -o t1.tally",
        "tally t2.parquet -o t2.tally",
        "tally r.parquet -o r.tally",
        "tally few.csv -o few.tally",
        "calibrate s.tally t.tally -o counted.json",
        "monitor s.tally t1.tally -o counted.html --state counted",
    ):
        CliRunner().invoke(app, words.split())
    yield
    os.chdir(before)


@cache
def outcome(words: str, option: str) -> str:
    """Everything that a command prints and writes, without the words of the option itself and without seals."""
    kept = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = CliRunner().invoke(app, words.split())
    seen = [str(result.exit_code), result.stdout, result.stderr]
    for path in sorted(path for path in Path().rglob("*") if path.is_file()):
        content = path.read_bytes()
        if kept.get(path) != content:
            shown = content if content.startswith((b"{", b"<", b"#", b'"')) else hashlib.sha256(content).digest()
            seen += [str(path), shown.decode("utf-8", "replace")]
        if path not in kept:
            path.unlink()
        else:
            path.write_bytes(kept[path])
    text = "\n".join(seen)
    if not words.startswith("label"):  # it is for another command that label takes some options
        text = text.replace(option, "")
    text = re.sub(r'sha256:[0-9a-f]{64}|"command": "[^"]*"', "", text)  # a certificate holds its command
    return " ".join(text.split())


def cases(commands: Iterable[str]) -> list[str]:
    return [
        f"{name} {max(param.secondary_opts or param.opts, key=len)}"  # what turns off what is on by itself
        for name, command in sorted(all_commands().items())
        for param in command.params
        if name in commands and param.param_type_name == "option" and param.name != "help"
    ]


def check(case: str, bases: dict[str, str], special: dict[str, tuple[str, str]]) -> None:
    name, flag = case.split()
    base, value = special.get(case, (bases[name], VALUES.get(flag, "")))
    is_flag = next(
        param for param in all_commands()[name].params if flag in param.opts + param.secondary_opts
    ).is_flag
    assert is_flag or value, f"{case} takes a value: name one, or nothing is tried"
    words = f"{flag} {value}".strip()
    is_there = flag in base.split()  # with a value: another one must give something else
    changed = re.sub(rf"{flag} \S+", words, base) if is_there else f"{base} {words}"
    assert outcome(changed, words) != outcome(base, ""), f"{changed} gives what {base} gives"


@pytest.mark.parametrize("case", cases(all_commands()))
def test_an_option_changes_something_or_is_refused(case: str) -> None:
    check(case, BASES, SPECIAL)


@pytest.mark.parametrize("case", cases(COUNTED))
def test_an_option_beside_a_tally_changes_something_or_is_refused(case: str) -> None:
    check(case, COUNTED, COUNTED_SPECIAL)
