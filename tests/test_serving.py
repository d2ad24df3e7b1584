"""The page "In a service": its programs and its test vectors say the same as ``sets``."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates import alter, birds
from pacshift import Certificate, InputError
from pacshift.arrays import Label

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
VECTORS = json.loads((ROOT / "docs" / "serving-vectors.json").read_text(encoding="utf-8"))
CASES = {case["name"]: case for case in VECTORS["cases"]}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
OF_PROBABILITIES = {name: case for name, case in CASES.items() if not case["softmax"]}
Case = dict[str, Any]


def certificate(case: Case) -> Certificate:
    """A certificate with the rule of a case; it does not know the kind of its scores, which the cases mix."""
    n_classes = len(case["classes"])
    unknown: dict[str, Any] = dict.fromkeys(
        ("score_kind", "columns", "weights", "prevalence", "class_miss", "assumption", "set_sizes")
    )
    return alter(
        birds(),
        thresholds=np.array(case["thresholds"], float),
        classes=tuple(case["classes"]),
        softmax=case["softmax"],
        never_empty=case["never_empty"],
        class_counts=np.ones(n_classes, int),
        predicted_counts=np.ones(n_classes, int),
        **unknown,
    )


def scores(case: Case, row: Case) -> Any:
    return np.array([float(score) for score in row["scores"]], case["scores"])


def named(case: Case, inside: Any) -> list[Label]:
    return [label for label, member in zip(case["classes"], inside, strict=True) if member]


def require_set(case: Case, row: Case, found: Sequence[Label] | None) -> None:
    """What a service may answer: the set, with labels just below their threshold if a softmax was computed."""
    if row["set"] is None or found is None:
        assert found is None is row["set"]
        return
    assert set(row["set"]) <= set(found) <= {*row["set"], *row.get("may_include", ())}
    if not case["softmax"]:
        assert list(found) == row["set"]


@EACH
def test_python_gives_exactly_these_sets(case: Case) -> None:
    made = certificate(case)
    predictor = made.predictor()
    for row in case["rows"]:
        given = scores(case, row)
        for use in (made.sets, predictor.sets):
            if row["set"] is None:
                with pytest.raises(InputError, match="NaN or infinite"):
                    use(given)
            else:
                assert named(case, use(given)) == row["set"]
        if row["set"] is not None:
            assert set(predictor.labels(given)) == set(row["set"])


@pytest.mark.parametrize("case", OF_PROBABILITIES.values(), ids=OF_PROBABILITIES)
def test_duckdb_gives_these_sets(case: Case) -> None:
    duckdb = pytest.importorskip("duckdb")
    columns = [f"s{place}" for place in range(len(case["classes"]))]
    width = {"float32": "REAL", "float64": "DOUBLE"}[case["scores"]]
    expression = certificate(case).to_sql("duckdb", columns=columns)
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE t (id INT, {', '.join(f'{name} {width}' for name in columns)})")
        for number, row in enumerate(case["rows"]):
            values = [number, *map(float, row["scores"])]
            db.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", values)
        found = [row[0] for row in db.execute(f"SELECT {expression} FROM t ORDER BY id").fetchall()]
    for row, labels in zip(case["rows"], found, strict=True):
        require_set(case, row, labels)


@EACH
def test_onnx_gives_these_sets(case: Case) -> None:
    runtime = pytest.importorskip("onnxruntime")
    from pacshift.onnx import to_onnx

    model = to_onnx(certificate(case), dtype=case["scores"])
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    sets, usable = session.run(None, {"scores": np.array([scores(case, row) for row in case["rows"]])})
    for row, inside, is_usable in zip(case["rows"], sets, usable, strict=True):
        require_set(case, row, named(case, inside) if is_usable else None)
        assert is_usable or not inside.any()


MAINS = {
    "cpp": """
    #include <cstdlib>
    #include <iostream>
    #include <string>
    int main() {
        int softmax, never_empty, n;
        std::string word;
        while (std::cin >> softmax >> never_empty >> n) {
            std::vector<double> cuts(n), scores(n);
            for (double& cut : cuts) { std::cin >> word; cut = std::strtod(word.c_str(), nullptr); }
            for (double& score : scores) { std::cin >> word; score = std::strtod(word.c_str(), nullptr); }
            auto set = prediction_set(scores, cuts, softmax, never_empty);
            if (!set) std::cout << "refused";
            else for (bool inside : *set) std::cout << (inside ? 1 : 0);
            std::cout << std::endl;
        }
    }
    """,
    "java": """
    class Main {
        static double read(String word) {
            return word.endsWith("inf") ? Double.parseDouble(word.replace("inf", "Infinity"))
                : word.equals("nan") ? Double.NaN : Double.parseDouble(word);
        }
        public static void main(String[] arguments) {
            java.util.Scanner words = new java.util.Scanner(System.in);
            while (words.hasNext()) {
                boolean softmax = words.next().equals("1"), neverEmpty = words.next().equals("1");
                int n = Integer.parseInt(words.next());
                double[] cuts = new double[n], scores = new double[n];
                for (int i = 0; i < n; i++) cuts[i] = read(words.next());
                for (int i = 0; i < n; i++) scores[i] = read(words.next());
                boolean[] set = PredictionSet.of(scores, cuts, softmax, neverEmpty);
                if (set == null) System.out.print("refused");
                else for (boolean inside : set) System.out.print(inside ? 1 : 0);
                System.out.println();
            }
        }
    }
    """,
    "rust": """
    fn main() {
        let text = std::io::read_to_string(std::io::stdin()).unwrap();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let n: usize = words[2].parse().unwrap();
            let numbers: Vec<f64> = words[3..].iter().map(|word| word.parse().unwrap()).collect();
            match prediction_set(&numbers[n..], &numbers[..n], words[0] == "1", words[1] == "1") {
                None => println!("refused"),
                Some(set) => println!("{}", set.iter().map(|x| if *x { '1' } else { '0' }).collect::<String>()),
            }
        }
    }
    """,
}
"""Programs that read a rule and a row per line and print the set, for the functions that the page links."""
PROGRAMS = {"cpp": "prediction_set.cpp", "java": "PredictionSet.java", "rust": "prediction_set.rs"}

BUILD = {
    "cpp": ("main.cpp", ["g++", "-std=c++17", "-O1", "main.cpp", "-o", "main"], ["./main"]),
    "java": ("Main.java", ["javac", "Main.java"], ["java", "Main"]),
    "rust": ("main.rs", ["rustc", "main.rs"], ["./main"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", BUILD)
def test_the_programs_on_the_page_give_these_sets(language: str, tmp_path: Path) -> None:
    source, build, run = BUILD[language]
    if shutil.which(build[0]) is None:
        pytest.skip(f"{build[0]} is not installed")
    program = (ROOT / "examples" / "serving" / PROGRAMS[language]).read_text(encoding="utf-8")
    assert f"](../examples/serving/{PROGRAMS[language]})" in PAGE
    (tmp_path / source).write_text(program + MAINS[language])
    built = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    rows = [(case, row) for case in CASES.values() for row in case["rows"]]
    lines = [
        " ".join(map(str, [int(case["softmax"]), int(case["never_empty"]), len(case["classes"])]))
        + " "
        + " ".join(repr(float(number)) for number in [*case["thresholds"], *scores(case, row)])
        for case, row in rows
    ]
    how: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run(run, cwd=tmp_path, input="\n".join(lines) + "\n", **how)
    for (case, row), said in zip(rows, done.stdout.split(), strict=True):
        require_set(case, row, None if said == "refused" else named(case, map(int, said)))
