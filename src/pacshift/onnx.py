"""ONNX: a certificate as a small graph, to stand behind the model's own wherever ONNX runs."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.certificate import Certificate
from pacshift.certificate.file import to_document
from pacshift.errors import InputError, MissingExtraError
from pacshift.files.codec import CHECKSUM
from pacshift.files.origin import PACSHIFT_VERSION
from pacshift.files.writing import PathLike, atomic_write
from pacshift.rows.rule import AcceptRule, SetRule
from pacshift.rows.sets import exact_cuts

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.onnx", error, "onnx") from None

OPSET, IR_VERSION = 17, 8
"""Old enough for the runtimes in use: both are of 2022."""

WIDTHS: dict[str, tuple[Any, int]] = {
    "float32": (np.dtype(np.float32), TensorProto.FLOAT),
    "float64": (np.dtype(np.float64), TensorProto.DOUBLE),
}


def to_onnx(
    certificate: Certificate,
    path: PathLike | None = None,
    *,
    dtype: Literal["float32", "float64"] = "float32",
    overwrite: bool = True,
) -> Any:
    """Turn a certificate into an ONNX model that makes its sets.

    The input ``scores`` has shape (n, K): what ``certificate.sets`` takes, so logits if the certificate takes the
    softmax of logits. The outputs are ``sets`` (n, K), whether each label is in the set, and ``usable`` (n,),
    false for rows that ``certificate.sets`` refuses: NaN, +inf or, with a softmax, nothing but -inf. The set of
    such a row is empty. Whether scores are of the right kind (logits, probabilities) is not looked at.

    Plain scores give exactly the sets of ``certificate.sets``. With a softmax a label at the very threshold may be
    included besides, because runtimes differ in the last bits of exp().

    Parameters
    ----------
    certificate : Certificate
        Its thresholds, classes, ``softmax`` and ``never_empty`` go into the graph.
    path : path-like, optional
        File to write, usually ``*.onnx``. It appears when it is complete, or not at all.
    dtype : {"float32", "float64"}
        Type of the scores.
    overwrite : bool, default True
        Whether a file that exists may be replaced.

    Returns
    -------
    onnx.ModelProto
        The model. Its metadata hold ``classes`` (JSON, in the order of the columns), ``method``, ``epsilon``,
        ``delta``, ``guarantee`` and the ``checksum`` of the certificate.

    Raises
    ------
    InputError
        If the certificate compares another score than ``"probability"``, the type is unknown, or the file cannot
        be written.
    MissingExtraError
        When this module is imported without the package ``onnx``.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> certificate = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, method="PS")
    >>> [output.name for output in to_onnx(certificate).graph.output]
    ['sets', 'usable']
    """
    if certificate.score != "probability":
        raise InputError(
            f"an ONNX graph can only compare probabilities, but this certificate transforms them first (score "
            f"{certificate.score!r}). Use `sets` or `predictor`, or calibrate with score='probability'."
        )
    if (
        certificate.softmax and not certificate.rule.may_grow
    ):  # sets would only grow, but what is accepted would change
        raise InputError(
            "ONNX rounds a softmax otherwise than pacshift does, and would accept other cases than those that "
            "were certified. Make the certificate of probabilities, or accept with `sets`, `predictor` or "
            "`pacshift predict`."
        )
    if dtype not in WIDTHS:
        raise InputError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")
    if dtype == "float32" and not certificate.fits_single:
        raise InputError("thresholds of this certificate do not fit single precision. Pass dtype='float64'.")
    model = _Graph(certificate, dtype).model()
    onnx.checker.check_model(model, full_check=True)
    if path is not None:
        with atomic_write(path, overwrite=overwrite) as draft:
            draft.write_bytes(model.SerializeToString())
    return model


class _Graph:
    """The nodes of a graph, added in the order in which they are computed."""

    def __init__(self, certificate: Certificate, dtype: str) -> None:
        self._certificate, self._n_classes = certificate, len(certificate.classes)
        self._width, self._type = WIDTHS[dtype]
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        scores = "scores"
        bad = self._add("Or", self._add("IsNaN", scores), self._add("IsInf", scores, detect_negative=0))
        bad = self._any(bad)
        if self._certificate.softmax:
            scores, top = self._softmax(scores)
            bad = self._add("Or", bad, self._add("IsInf", top))
            cuts = forgiving_cuts(self._certificate.thresholds).astype(self._width)[None]
        else:
            cuts = exact_cuts(self._certificate.thresholds, self._width)
        cuts = np.broadcast_to(cuts, (1, self._n_classes)).copy()
        self._scores, self._reached = scores, self._add("GreaterOrEqual", scores, self._constant(cuts))
        sets = self._certificate.rule.written(self)
        usable = self._add("Not", bad)
        self._add("And", sets, usable, name="sets")
        self._add("Squeeze", usable, self._constant(np.array([1])), name="usable")

        def tensor(name: str, kind: int, shape: Sequence[str | int]) -> Any:
            return helper.make_tensor_value_info(name, kind, list(shape))

        inputs = [tensor("scores", self._type, ("rows", self._n_classes))]
        outputs = [
            tensor("sets", TensorProto.BOOL, ("rows", self._n_classes)),
            tensor("usable", TensorProto.BOOL, ("rows",)),
        ]
        graph = helper.make_graph(self._nodes, "pacshift", inputs, outputs, self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="pacshift",
            producer_version=PACSHIFT_VERSION,
            doc_string=self._certificate.explain(full=True),
        )
        certificate = self._certificate
        facts = {name: str(getattr(certificate, name)) for name in ("method", "epsilon", "delta", "guarantee")}
        facts["classes"] = json.dumps(list(certificate.classes), ensure_ascii=False)
        facts["checksum"] = str(to_document(certificate)[CHECKSUM])
        helper.set_model_props(model, facts)
        return model

    def sets(self, rule: SetRule) -> str:
        """What is reached; an empty set gets the label with the highest score, the first on ties."""
        if not rule.never_empty:
            return self._reached
        place = self._add("ArgMax", self._scores, axis=1, select_last_index=0)
        is_top = self._add("Equal", place, self._constant(np.arange(self._n_classes)[None]))
        fill = self._add("And", is_top, self._add("Not", self._any(self._reached)))
        return self._add("Or", self._reached, fill)

    def accept_or_ask(self, rule: AcceptRule) -> str:
        """The top label where it is the only one and reaches its threshold; every label elsewhere."""
        single = self._add("Cast", self._scores, to=TensorProto.FLOAT)
        is_top = self._add("Equal", single, self._add("ReduceMax", single, axes=[1]))
        n_tops = self._add(
            "ReduceSum", self._add("Cast", is_top, to=TensorProto.FLOAT), self._constant(np.array([1]))
        )
        alone = self._add("Less", n_tops, self._constant(np.array([[1.5]], np.float32)))
        sure = self._add("And", alone, self._any(self._add("And", is_top, self._reached)))
        return self._add("Or", self._add("Not", sure), is_top)

    def _softmax(self, logits: str) -> tuple[str, str]:
        """In double precision, rounded to the type of the logits, as ``softmax`` of the package; the top logit."""
        single = self._add("Cast", logits, to=TensorProto.FLOAT)
        wide = self._add("Cast", single, to=TensorProto.DOUBLE)
        top = self._add("ReduceMax", wide, axes=[1])
        powers = self._add("Exp", self._add("Sub", wide, top))
        total = self._add("ReduceSum", powers, self._constant(np.array([1])))
        return self._add("Cast", self._add("Div", powers, total), to=self._type), top

    def _any(self, flags: str) -> str:
        """Whether any flag of a row is set; the reductions of ONNX take numbers."""
        numbers = self._add("Cast", flags, to=TensorProto.FLOAT)
        return self._add("Cast", self._add("ReduceMax", numbers, axes=[1]), to=TensorProto.BOOL)

    def _add(self, kind: str, *inputs: str, name: str = "", **options: Any) -> str:
        name = name or f"pacshift_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **options))
        return name

    def _constant(self, values: Any) -> str:
        name = f"pacshift_constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(values, name))
        return name


def forgiving_cuts(thresholds: FloatArray) -> FloatArray:
    """Thresholds one step of single precision lower, for a softmax that is computed elsewhere.

    Another exp() or another order of adding up changes the last bits of a probability. Who does not round it to
    single precision, as we do with logits of single precision, changes a few more: all of it less than one step.
    So a label that ``make_sets`` includes is included there too, also one at the threshold: sets only grow, and
    the promise stays.

    >>> forgiving_cuts(np.array([0.5, 0.1, -np.inf]))
    array([0.49999997, 0.09999999,       -inf])
    """
    with np.errstate(over="ignore"):  # beyond the range of single precision: ±inf
        below = thresholds.astype(np.float32)
    down = np.float32(-np.inf)
    below = np.where(below > thresholds, np.nextafter(below, down), below)
    return np.nextafter(below, down).astype(np.float64)
