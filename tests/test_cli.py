"""Every command on real files, in this process: what it prints, what it writes, how it ends."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from pacshift import METHODS, Certificate, Tally, calibrate_tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.cli import app
from pacshift.cli.options import seed_for

NAMES = ("crow", "owl", "wren")


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def good(*words: object) -> Result:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def bad(*words: object, code: int = 2) -> str:
    """One clear line on stderr, nothing on stdout, no traceback."""
    result = run(*words)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@dataclass(frozen=True)
class Data:
    folder: Path
    scores: FloatArray
    labels: IntArray

    @property
    def source(self) -> Path:
        return self.folder / "source.parquet"

    @property
    def target(self) -> Path:
        return self.folder / "target.parquet"

    @property
    def labelled(self) -> Path:
        return self.folder / "labelled.parquet"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.json"


def columns(scores: Any, labels: Any = None) -> dict[str, Any]:
    made: dict[str, Any] = {"id": np.arange(len(scores)) + 100}
    made |= {f"p_{name}": scores[:, place] for place, name in enumerate(NAMES)}
    return made if labels is None else made | {"label": np.array(NAMES)[labels]}


def simulate(rng: np.random.Generator, mix: list[float], size: int) -> tuple[FloatArray, IntArray]:
    labels = rng.choice(3, size, p=mix)
    logits = rng.normal(0, 1, (size, 3)) + np.diag([3.0, 3.0, 1.5])[labels]
    exps = np.exp(logits)
    return exps / exps.sum(axis=1, keepdims=True), labels


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    scores, labels = simulate(rng, [0.6, 0.3, 0.1], 3000)
    other, truth = simulate(rng, [0.2, 0.3, 0.5], 2000)
    made = Data(folder, scores, labels)
    pa.parquet.write_table(pa.table(columns(scores, labels)), made.source)
    pa.parquet.write_table(pa.table(columns(other)), made.target)
    pa.parquet.write_table(pa.table(columns(other, truth)), made.labelled)
    good("calibrate", made.source, made.target, "-m", "PS-W", "-o", made.certificate)
    return made


def test_calibrate_says_and_writes_what_the_library_gives(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    shown = good(
        "calibrate", data.source, data.target, "--method", "PS-W", "-e", 0.08, "-d", 0.02, "-o", out
    ).stdout
    made = Certificate.load(out)
    target = pa.parquet.read_table(data.target).select([f"p_{name}" for name in NAMES])
    matrix = np.column_stack([column.to_numpy() for column in target.itercolumns()])
    tally = Tally.from_scores(data.scores, np.array(NAMES)[data.labels], classes=NAMES, grid=True)
    tally = tally + Tally.from_target(matrix, classes=NAMES)
    same = calibrate_tally(tally, epsilon=0.08, delta=0.02, method="PS-W", rng=seed_for(0, "method"))
    assert np.array_equal(made.thresholds, same.thresholds)
    assert made.set_sizes is not None
    assert np.array_equal(made.set_sizes, np.bincount(same.sets(matrix).sum(axis=1), minlength=4))
    assert " ".join(shown.split()).startswith(" ".join(same.explain().split()))
    assert "written: " in shown


@pytest.mark.parametrize("method", [name for name in METHODS if name != "ORACLE"])
def test_every_method_runs_from_tables(method: str, data: Data, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    document = json.loads(good("calibrate", data.source, data.target, "-m", method, "-o", out, "--json").stdout)
    assert document["method"] == method
    assert document["score"] == ("aps" if method == "APS" else "probability")
    assert document["guarantee"] == METHODS[method].guarantee
    assert sum(document["target_set_sizes"]) == 2000
    assert document["certificate"] == str(out)


def test_oracle_takes_weights(data: Data, tmp_path: Path) -> None:
    call = ("calibrate", data.source, data.target, "-m", "ORACLE", "-o", tmp_path / "c.json")
    assert "needs the true importance weights" in bad(*call)
    assert "--weights takes numbers separated by commas, got '1,x'" in bad(*call, "--weights", "1,x")
    assert "weights: one finite number >= 0 a class is needed" in bad(*call, "--weights", "1,2")
    good(*call, "--weights", "0.33,1,5")


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "npz", "list"])
def test_every_kind_of_table_gives_the_same_certificate(kind: str, data: Data, tmp_path: Path) -> None:
    tables = {"source": pa.parquet.read_table(data.source), "target": pa.parquet.read_table(data.target)}
    extra: tuple[str, ...] = ()
    paths = {name: tmp_path / f"{name}.{'parquet' if kind == 'list' else kind}" for name in tables}
    for name, table in tables.items():
        matrix = np.column_stack([table.column(f"p_{one}").to_numpy() for one in NAMES])
        if kind == "parquet":
            pa.parquet.write_table(table, paths[name])
        elif kind == "feather":
            pa.feather.write_feather(table, str(paths[name]))
        elif kind == "csv":
            pa.csv.write_csv(table, paths[name])
        elif kind == "npz":
            arrays: dict[str, Any] = {"probs": matrix, "class_names": np.array(NAMES)}
            arrays |= {"labels": np.array(table.column("label").to_pylist())} if name == "source" else {}
            np.savez(paths[name], **arrays)
        else:
            made = {"scores": matrix.tolist()}
            made |= {"label": table.column("label")} if name == "source" else {}
            pa.parquet.write_table(pa.table(made), paths[name])
            extra = ("--scores", "scores", "--classes", ",".join(NAMES))
    good("calibrate", paths["source"], paths["target"], "-m", "PS-W", "-o", tmp_path / "c.json", *extra)
    made_one, same = Certificate.load(tmp_path / "c.json"), Certificate.load(data.certificate)
    assert made_one.classes == same.classes
    assert np.array_equal(made_one.thresholds, same.thresholds)


def test_several_files_and_folders_are_one_table(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.source)
    (tmp_path / "source").mkdir()
    for part in range(3):
        pa.parquet.write_table(table.slice(part * 1000, 1000), tmp_path / "source" / f"{part}.parquet")
    target = tmp_path / "t.parquet"
    target.write_bytes(data.target.read_bytes())
    same = Certificate.load(data.certificate).thresholds
    good("calibrate", tmp_path / "source", target, "-m", "PS-W", "-o", tmp_path / "a.json")
    files = [tmp_path / "source" / f"{part}.parquet" for part in range(3)]
    more = ("--source", files[1], "--source", files[2], "--target", target)
    good("calibrate", files[0], *more, "-m", "PS-W", "-o", tmp_path / "b.json")
    for name in ("a", "b"):
        assert np.array_equal(Certificate.load(tmp_path / f"{name}.json").thresholds, same)
    assert "one SOURCE and one TARGET, got 3 paths. Add more files with --source" in bad("calibrate", *files)


def test_columns_of_the_target_may_stand_in_any_order(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.target)
    pa.parquet.write_table(table.select(table.column_names[::-1]), tmp_path / "turned.parquet")
    good("calibrate", data.source, tmp_path / "turned.parquet", "-m", "PS-W", "-o", tmp_path / "c.json")
    made, same = Certificate.load(tmp_path / "c.json"), Certificate.load(data.certificate)
    assert np.array_equal(made.thresholds, same.thresholds)
    assert np.array_equal(made.predicted_counts, same.predicted_counts)


def test_tallies_of_sites_give_the_certificate_of_all(data: Data, tmp_path: Path) -> None:
    labels = np.array(NAMES)[data.labels]
    for part in range(2):
        rows = slice(part * 1500, (part + 1) * 1500)
        Tally.from_scores(data.scores[rows], labels[rows], classes=NAMES, grid=True).save(
            tmp_path / f"{part}.tally"
        )
    target = pa.parquet.read_table(data.target)
    matrix = np.column_stack([target.column(f"p_{name}").to_numpy() for name in NAMES])
    Tally.from_target(matrix, classes=NAMES).save(tmp_path / "t.tally")
    files = [tmp_path / name for name in ("t.tally", "1.tally", "0.tally")]
    good("calibrate", "--tallies", *files, "-m", "PS-W", "-o", tmp_path / "c.json")
    made = Certificate.load(tmp_path / "c.json")
    assert np.array_equal(made.thresholds, Certificate.load(data.certificate).thresholds)
    assert made.set_sizes is None
    assert "name at least one tally file" in bad("calibrate", "--tallies", "-o", tmp_path / "d.json")
    assert "is not a pacshift tally" in bad("calibrate", "--tallies", data.source, "-o", tmp_path / "d.json")


def test_exact_keeps_every_score(data: Data, tmp_path: Path) -> None:
    good("calibrate", data.source, "-m", "PS", "--exact", "-o", tmp_path / "c.json")
    threshold = Certificate.load(tmp_path / "c.json").thresholds[0]
    assert threshold in data.scores
    good("calibrate", data.source, "-m", "PS", "-o", tmp_path / "c.json", "--force")
    assert threshold * (1 - 2**-11) < Certificate.load(tmp_path / "c.json").thresholds[0] <= threshold


def test_seeds_never_empty_and_scores(data: Data, tmp_path: Path) -> None:
    call = ("calibrate", data.source, data.target, "-m", "PS", "--score", "aps", "--never-empty", "-o")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        good(*call, tmp_path / f"{name}.json", "--seed", seed)
    a, b, c = (Certificate.load(tmp_path / f"{name}.json") for name in "abc")
    assert a.never_empty
    assert a.set_sizes is not None
    assert a.set_sizes[0] == 0
    assert np.array_equal(a.thresholds, b.thresholds)
    assert not np.array_equal(a.thresholds, c.thresholds)
    assert seed_for(1, "source") != seed_for(1, "predict")


def test_nothing_certified_is_written_and_exits_3(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    result = run("calibrate", data.source, data.target, "-m", "PS-W", "-e", 1e-5, "-o", out)
    assert result.exit_code == 3
    assert "all labels" in result.stdout
    assert Certificate.load(out).trivial
    result = run("calibrate", data.source, data.target, "-m", "PS-W", "-e", 1e-5, "-o", out, "--force", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["trivial"] is True
    assert result.stderr.startswith("note: ")
    assert "all labels" in result.stderr


def test_refuted_label_shift_exits_3_and_writes_nothing(tmp_path: Path) -> None:
    """Half of the owls look like crows; no mix of the two can look like owls nine times in ten."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000)
    seen = {"source": (labels == 1) & (rng.random(2000) < 0.5), "target": rng.random(2000) < 0.9}
    for name, owl in seen.items():
        p = np.where(owl, 0.9, 0.1) + rng.uniform(-0.05, 0.05, 2000)
        made: dict[str, Any] = {"p_crow": 1 - p, "p_owl": p, "label": np.array(NAMES)[labels]}
        pa.parquet.write_table(pa.table(made), tmp_path / f"{name}.parquet")
    call = (tmp_path / "source.parquet", tmp_path / "target.parquet")
    for method in ("PS-LP", "PS-W"):
        line = bad("calibrate", *call, "-m", method, "-o", tmp_path / "c.json", code=3)
        assert "label shift is refuted" in line
    assert not (tmp_path / "c.json").exists()
    result = good("compare", *call)
    assert "refused" in result.stdout
    assert "note: PS-W: refused: label shift is refuted" in result.stderr


def test_outputs_are_not_overwritten_without_force(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "precious.json"
    out.write_text("precious")
    html, sets = tmp_path / "r.html", tmp_path / "s.parquet"
    html.write_text("precious")
    sets.write_text("precious")
    calls: list[tuple[object, ...]] = [
        ("calibrate", data.source, data.target, "-m", "PS-W", "-o", out),
        ("predict", data.certificate, data.target, "-o", sets),
        ("report", data.certificate, "-o", html),
    ]
    for call in calls:
        assert "exists already. Choose another name with -o, or overwrite it with --force." in bad(*call)
        assert Path(str(call[-1])).read_text() == "precious"
    for call in calls:
        good(*call, "--force")
        assert Path(str(call[-1])).read_bytes() != b"precious"
    assert "must name a file in a folder that exists" in bad(*calls[0][:-1], tmp_path / "no" / "c.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious.json", "r.html", "s.parquet"]


def test_predict_writes_lists_of_names(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "sets.parquet"
    shown = good("predict", data.certificate, data.target, "--keep", "id", "-o", out).stdout
    table = pa.parquet.read_table(out)
    assert table.column_names == ["id", "set", "set_size"]
    certificate = Certificate.load(data.certificate)
    target = pa.parquet.read_table(data.target)
    sets = certificate.sets(np.column_stack([target.column(f"p_{name}").to_numpy() for name in NAMES]))
    assert table.column("id").to_pylist() == list(range(100, 2100))
    assert table.column("set").to_pylist() == [[NAMES[place] for place in np.flatnonzero(row)] for row in sets]
    assert table.column("set_size").to_pylist() == sets.sum(axis=1).tolist()
    assert shown.startswith("2,000 sets, ")
    document = json.loads(good("predict", data.certificate, data.target, "-o", out, "-f", "--json").stdout)
    assert document == {"sets": str(out), "rows": 2000, "dropped": 0, "set_sizes": document["set_sizes"]}
    assert certificate.set_sizes is not None
    assert document["set_sizes"] == certificate.set_sizes.tolist()


def test_predict_refuses(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "sets.parquet"
    assert "cannot keep 'nope'" in bad("predict", data.certificate, data.target, "-k", "nope", "-o", out)
    assert "its name must end in" in bad("predict", data.certificate, data.target, "-o", tmp_path / "sets.xlsx")
    assert "is not a certificate" in bad("predict", data.source, data.target, "-o", out)
    assert "no such file" in bad("predict", data.certificate, tmp_path / "none.csv", "-o", out)
    assert not list(tmp_path.iterdir())


def test_rows_are_left_out_only_if_asked_and_never_in_silence(data: Data, tmp_path: Path) -> None:
    broken = pa.parquet.read_table(data.source).to_pydict()
    broken["p_owl"][5] = float("nan")
    broken["label"][7] = None
    path = tmp_path / "broken.parquet"
    pa.parquet.write_table(pa.table(broken), path)
    call = ("calibrate", path, data.target, "-m", "PS-W", "-o", tmp_path / "c.json")
    assert "2 row(s) cannot be used" in bad(*call)
    result = good(*call, "--drop-invalid")
    assert "note: source: 2 of 3,000 rows left out (--drop-invalid)." in result.stderr
    assert Certificate.load(tmp_path / "c.json").n_source == 2998


def test_check_counts_and_judges(data: Data) -> None:
    shown = good("check", data.certificate, data.labelled).stdout
    assert "kept: The error is at most the 10 % asked for" in " ".join(shown.split())
    document = json.loads(good("check", data.certificate, data.labelled, "--json").stdout)
    table = pa.parquet.read_table(data.labelled)
    matrix = np.column_stack([table.column(f"p_{name}").to_numpy() for name in NAMES])
    index = np.array([NAMES.index(name) for name in table.column("label").to_pylist()])
    sets = Certificate.load(data.certificate).sets(matrix)
    missed = ~sets[np.arange(2000), index]
    assert document["rows"] == 2000
    assert document["error"] == missed.mean()
    assert document["size"] == sets.sum(axis=1).mean()
    assert [row["error"] for row in document["classes"]] == [missed[index == one].mean() for one in range(3)]
    low, high = document["error_interval"]
    assert low < document["error"] < high < 0.1
    assert document["verdict"] == "kept"


def test_check_is_honest_about_small_samples_and_broken_guarantees(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    few = tmp_path / "few.parquet"
    pa.parquet.write_table(table.slice(0, 20), few)
    shown = " ".join(good("check", data.certificate, few).stdout.split())
    assert "consistent: " in shown
    assert "20 rows are too few" in shown
    wrong = tmp_path / "wrong.parquet"
    shuffled = np.random.default_rng(0).permutation(table.column("label").to_pylist())
    pa.parquet.write_table(table.set_column(table.column_names.index("label"), "label", pa.array(shuffled)), wrong)
    shown = " ".join(good("check", data.certificate, wrong).stdout.split())
    assert "broken: The error is above the 10 % asked for" in shown
    assert "label shift does not hold" in shown
    good("calibrate", data.source, "-m", "PS", "-o", tmp_path / "ps.json")
    document = json.loads(good("check", tmp_path / "ps.json", wrong, "--json").stdout)
    assert document["verdict"] == "above"
    assert "on the source only" in document["in_words"]


def test_check_without_rows_of_a_class_and_bad_levels(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    some = tmp_path / "some.parquet"
    pa.parquet.write_table(table.filter(pa.compute.equal(table.column("label"), "owl")), some)
    document = json.loads(good("check", data.certificate, some, "--json").stdout)
    assert [row["error"] is None for row in document["classes"]] == [True, False, True]
    assert "-" in good("check", data.certificate, some).stdout
    assert "--level must lie strictly between 0 and 1" in bad("check", data.certificate, some, "--level", 95)
    assert "'nope'" in bad("check", data.certificate, some, "--label", "nope")


def test_compare_shows_all_methods(data: Data, tmp_path: Path) -> None:
    document = json.loads(good("compare", data.source, data.target, "--json").stdout)
    assert [row["method"] for row in document["methods"]] == [name for name in METHODS if name != "ORACLE"]
    assert all(row["error"] is None and 0 < row["size"] <= 3 for row in document["methods"])
    result = good(
        "compare", data.source, data.labelled, "--target-label", "label", "--weights", "0.33,1,5", "--json"
    )
    document = json.loads(result.stdout)
    assert [row["method"] for row in document["methods"]] == list(METHODS)
    errors = {row["method"]: row["error"] for row in document["methods"]}
    assert errors["PS-W"] <= 0.1 < errors["PS"]  # the shift goes to the class that is hard to tell
    shown = good("compare", data.source, data.labelled, "--target-label", "label").stdout
    assert "> 0.1" in shown
    assert "target (PAC)" in shown
    (tmp_path / "rows.json").write_text(result.stdout)
    good("report", data.certificate, "--comparison", tmp_path / "rows.json", "-o", tmp_path / "r.html")
    assert "PS-LW" in (tmp_path / "r.html").read_text()


def test_compare_says_who_refuses(data: Data, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1, (500, 3)) + 3 * np.eye(3)[rng.integers(0, 3, 500)]
    path = tmp_path / "logits.parquet"
    pa.parquet.write_table(pa.table(columns(logits, logits.argmax(axis=1))), path)
    assert "no TARGET" in bad("compare", path)
    assert "epsilon must lie strictly" in bad("compare", data.source, data.target, "-e", 5)
    result = good("compare", data.source, data.target, "-e", 1e-4)
    assert "(all labels)" in result.stdout
    assert "note: PS-W: " in result.stderr


def test_report_is_written(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert good("report", data.certificate, "-o", out).stdout == f"written: {out}\n"
    assert "crow" in out.read_text()
    assert json.loads(good("report", data.certificate, "-o", out, "-f", "--json").stdout) == {"report": str(out)}
    rows = tmp_path / "rows.json"
    for text in ("", "[]", "{}", '{"methods": [{}]}', '{"methods": [{"method": "X"}]}', "[" * 100_000):
        rows.write_text(text)
        assert "is not what `pacshift compare --json` prints" in bad(
            "report", data.certificate, "--comparison", rows, "-o", out, "-f"
        )


def test_methods_lists_all() -> None:
    shown = good("methods").stdout
    document = json.loads(good("methods", "--json").stdout)
    assert list(document) == list(METHODS)
    assert all(name in shown and document[name]["idea"] for name in METHODS)


def test_demo_shows_who_keeps_the_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    shown = " ".join(good("demo", "-o", tmp_path / "d", "--draws", 2).stdout.split())
    assert "Guarantee (PS-" in shown
    for name in ("report.html", "demo.png", "certificate.json", "source.parquet", "target.parquet"):
        assert (tmp_path / "d" / name).stat().st_size > 500
    document = json.loads(good("demo", "-o", tmp_path / "d", "--draws", 1, "--json").stdout)  # overwrites its own
    errors = {row["method"]: row["error"] for row in document["methods"]}
    assert list(errors) == list(METHODS)
    assert all(errors[name] <= 0.1 for name in METHODS if METHODS[name].guarantee == "pac-target")
    assert errors["PS"] > 0.2
    files = document["files"]
    good("calibrate", files["source"], files["target"], "-m", "PS-W", "-o", tmp_path / "c.json")
    verdict = json.loads(good("check", tmp_path / "c.json", files["labelled"], "--json").stdout)["verdict"]
    assert verdict == "kept"
    assert "names 3 panels" in bad("demo", "--panel", "agnews")
    (tmp_path / "file").write_text("")
    assert "cannot make the folder" in bad("demo", "-o", tmp_path / "file")


def test_quiet_prints_nothing(data: Data, tmp_path: Path) -> None:
    calls: list[tuple[object, ...]] = [
        ("calibrate", data.source, data.target, "-m", "PS-W", "-o", tmp_path / "c.json"),
        ("predict", data.certificate, data.target, "-o", tmp_path / "s.parquet"),
        ("check", data.certificate, data.labelled),
        ("compare", data.source, data.target),
        ("report", data.certificate, "-o", tmp_path / "r.html"),
        ("demo", "-o", tmp_path / "d", "--draws", 1),
    ]
    for call in calls:
        assert good(*call, "--quiet").output == ""


def test_usage_errors_are_one_line() -> None:
    assert "no SOURCE: name a labelled table" in bad("calibrate")
    assert "No such option" in bad("calibrate", "--nope")
    assert "No such command 'nope'" in bad("nope")
    assert "--epsilon" in bad("calibrate", "a.csv", "--epsilon", "much")
    assert "See `" in bad("predict")
    assert "method must be one of" in bad("calibrate", "a.csv", "--method", "PS-X")
    assert "delta must lie strictly between 0 and 1, got 2.0" in bad("calibrate", "a.csv", "b.csv", "--delta", 2)
    assert "epsilon must lie strictly between 0 and 1" in bad("compare", "a.csv", "b.csv", "--epsilon", 0)
    assert "score must be one of" in bad("calibrate", "a.csv", "--score", "x", "-m", "PS")
    assert "no TARGET: method PS-W needs unlabelled target scores" in bad("calibrate", "a.csv", "-m", "PS-W")
    assert "engine" in bad("calibrate", "a.csv", "--engine", "duck")


def test_class_names_cannot_speak_to_the_terminal(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    evil = ["[red]crow\x1b[2J", "owl\x07", "wren\x1b]0;x\x07"]
    names = [f"p_{name}" for name in evil]
    labels = np.array(evil)[[NAMES.index(name) for name in table.column("label").to_pylist()]]
    matrix = {name: table.column(f"p_{old}") for name, old in zip(names, NAMES, strict=True)}
    pa.parquet.write_table(pa.table({**matrix, "label": labels}), tmp_path / "evil.parquet")
    path, out = tmp_path / "evil.parquet", tmp_path / "c.json"
    shown = good("calibrate", path, path, "-m", "PS-LW", "-o", out).output
    shown += good("check", out, path).output
    shown += bad("check", out, data.labelled)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[red]crow" in shown


def test_unexpected_errors_ask_for_a_report(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(Certificate, "load", broken)
    line = bad("check", data.certificate, data.labelled, code=1)
    assert line == "error: this should not happen: RuntimeError: two lines. Please report it.\n"


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_interrupts_and_full_disks_leave_no_half_files(
    problem: BaseException, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise problem

    out = tmp_path / "sets.parquet"
    out.write_text("precious")
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_batch", interrupted)
    result = run("predict", data.certificate, data.target, "-o", out, "--force")
    assert result.exit_code == (130 if isinstance(problem, KeyboardInterrupt) else 2)
    assert out.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]


def test_help_has_an_example_for_each_command() -> None:
    for command in ("demo", "calibrate", "predict", "check", "compare", "report", "reproduce", "methods"):
        shown = good(command, "--help").stdout
        assert f"Example: pacshift {command}" in " ".join(shown.split())
    assert good("--version").stdout.startswith("pacshift 0.")
    assert "Commands" in good().stdout
