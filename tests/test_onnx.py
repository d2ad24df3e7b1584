"""A certificate as an ONNX graph: the same sets in onnxruntime."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates import alter, birds
from pacshift import InputError
from pacshift.certificate.file import to_document
from pacshift.scores.transforms import softmax

pytest.importorskip("onnx", reason="the export needs pacshift[onnx]")
runtime = pytest.importorskip("onnxruntime", reason="graphs are run in onnxruntime")

from pacshift.onnx import to_onnx  # noqa: E402  # needs the package onnx


def run(model: Any, scores: Any) -> tuple[Any, Any]:
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    sets, usable = session.run(None, {"scores": scores})
    return sets, usable


@pytest.mark.parametrize("never_empty", [False, True])
@pytest.mark.parametrize("width", ["float32", "float64"])
def test_plain_scores_give_exactly_the_same_sets(width: Any, never_empty: bool) -> None:
    rows = np.random.default_rng(0).dirichlet([1, 1, 1], 500).astype(width)
    made = alter(birds(), thresholds=rows[7].astype(float) * [1, 1.5, 1], never_empty=never_empty)
    sets, usable = run(to_onnx(made, dtype=width), rows)
    assert usable.all()
    assert np.array_equal(sets, made.sets(rows))


@pytest.mark.parametrize("never_empty", [False, True])
@pytest.mark.parametrize("width", ["float32", "float64"])
def test_a_softmax_loses_no_label_and_adds_hardly_any(width: Any, never_empty: bool) -> None:
    rows = np.random.default_rng(0).normal(0, 4, (2000, 3)).astype(width)
    cuts = softmax(rows[:1])[0].astype(float)
    made = alter(birds(), thresholds=cuts, softmax=True, never_empty=never_empty)
    (sets, usable), expected = run(to_onnx(made, dtype=width), rows), made.sets(rows)
    assert usable.all()
    assert sets[0].all()  # at its thresholds
    assert not (expected & ~sets).any()
    extra = sets & ~expected
    assert (softmax(rows)[extra] > (np.broadcast_to(cuts, sets.shape) * (1 - 3e-7))[extra]).all()


def test_it_tells_what_it_is(tmp_path: Path) -> None:
    made = birds()
    model = to_onnx(made, tmp_path / "sets.onnx")
    assert (tmp_path / "sets.onnx").read_bytes() == model.SerializeToString()
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(facts["classes"]) == list(made.classes)
    assert facts["guarantee"] == made.guarantee
    assert facts["checksum"] == to_document(made)["checksum"]
    assert model.doc_string == made.explain(full=True)
    with pytest.raises(InputError, match="exists"):
        to_onnx(made, tmp_path / "sets.onnx", overwrite=False)


def test_what_a_graph_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match=r"score 'margin'\). Use `sets` or `predictor`"):
        to_onnx(replace(birds(), score="margin"))
    with pytest.raises(InputError, match="dtype must be 'float32' or 'float64', got 'float16'"):
        to_onnx(birds(), dtype="float16")  # type: ignore[arg-type]


def test_it_stands_behind_the_graph_of_a_model() -> None:
    """As the page says: model and sets in one file."""
    import onnx
    from onnx import TensorProto, helper

    weights = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["rows", 4])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", 3])
    node = helper.make_node("MatMul", ["features", "weights"], ["logits"])
    constants = [onnx.numpy_helper.from_array(weights, "weights")]
    graph = helper.make_graph([node], "model", [features], [logits], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    made = replace(birds(), softmax=True)
    both = onnx.compose.merge_models(model, to_onnx(made), io_map=[("logits", "scores")])
    rows = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    session = runtime.InferenceSession(both.SerializeToString(), providers=["CPUExecutionProvider"])
    sets = session.run(["sets"], {"features": rows})[0]
    assert np.array_equal(sets, made.sets(rows @ weights))
