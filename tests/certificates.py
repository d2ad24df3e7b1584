"""Certificates of every shape that plots and reports must cope with."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pacshift import Certificate, Interval, UninformativeWarning, calibrate
from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.methods import Method

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    r"$\frac",
    "$a$ and $b",
    "two\nlines\x08\u202e",
    "名前 العربية 🫀",
    "x" * 300,
    "</text></svg><script>alert(2)</script>",
    ']]>--><svg onload="alert(3)">{{ 7 * 7 }}',
    'style="fill: #111213"',
    "&lt;b&gt; 'quoted' \"twice\"",
)


def draw(n_classes: int, n: int, mix: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Softmax scores that point at the label, more or less."""
    labels = rng.choice(n_classes, n, p=mix)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), labels] += 3
    exp = np.exp(logits)
    return exp / exp.sum(axis=1, keepdims=True), labels


def certify(classes: Sequence[Label] | int, method: str | Method, *, n: int = 4000, **options: Any) -> Certificate:
    """A real certificate on a made-up shift, with the target's set sizes."""
    names = list(range(classes)) if isinstance(classes, int) else list(classes)
    rng = np.random.default_rng(0)
    even, shifted = np.full(len(names), 1 / len(names)), rng.dirichlet(np.full(len(names), 3.0))
    source, labels = draw(len(names), n, even, rng)
    target, _ = draw(len(names), n, shifted, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        certificate = calibrate(
            source,
            np.array(names, dtype=object)[labels],
            target,
            classes=names,
            method=method,
            rng=0,
            **{"epsilon": 0.1, "delta": 0.05, **options},
        )
    return certificate.with_set_sizes(target)


@cache
def birds() -> Certificate:
    """A small PS-W certificate with names and set sizes."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 600)
    scores = rng.dirichlet(np.ones(3), 600) + 2 * np.eye(3)[labels]
    names = ["crow", "owl", "wren"]
    rows = scores / 3
    asked: dict[str, Any] = {"epsilon": 0.1, "delta": 0.1, "method": "PS-W", "classes": names, "rng": 0}
    made = calibrate(rows, np.array(names)[labels], rows, **asked)
    return made.with_set_sizes(scores / 3)


def alter(
    certificate: Certificate,
    *,
    thresholds: Any = None,
    never_empty: bool = False,
    class_epsilon: float | None = None,
    **fields: Any,
) -> Certificate:
    """The certificate with another rule or limit, which nothing certifies, and other fields."""
    rule = certificate.rule if thresholds is None else replace(certificate.rule, thresholds=np.asarray(thresholds))
    if class_epsilon is not None:
        fields["limits"] = np.full(len(rule.thresholds), class_epsilon)
    return replace(certificate, rule=rule.fill_empty_sets() if never_empty else rule, **fields)


def with_everything(certificate: Certificate, seed: int = 0) -> Certificate:
    """Made-up values in every field a method may leave out, an unbounded weight among them."""
    rng = np.random.default_rng(seed)
    n_classes = len(certificate.classes)
    lower = rng.uniform(0, 1.2, n_classes)
    upper = lower + rng.gamma(2, 0.5, n_classes)
    upper[-1] = np.inf
    share = lower / lower.sum()
    return replace(
        certificate,
        weights=Interval(lower, upper),
        prevalence=Interval(share * 0.9, np.minimum(share * 1.1, 1)),
        accuracy=0.71298,
    )


@cache
def every_shape() -> dict[str, Certificate]:
    """By name: what the page and the pictures are tried on."""
    bare = certify(3, "PS-LW")
    return {
        "full": with_everything(certify(["pneumonia", "effusion", "nodule", "mass", "none"], "PS-LW")),
        "default": certify(["benign", "malignant", "unclear"], "PS-LP", n=3000),
        "binary": certify(["no disease", "disease"], "PS-W", n=8000),
        "trivial": certify(12, "PS-W", n=300),
        "many": with_everything(certify([f"class {k:03d}" for k in range(200)], "PS-LW", n=20000)),
        "hostile": with_everything(certify(HOSTILE, "PS-LW")),
        "source only": certify(3, "PS"),
        "marginal": certify(3, "WCP"),
        "no guarantee": certify(3, "PS-R"),
        "bare": replace(
            bare,
            set_sizes=None,
            n_target=0,
            predicted_counts=np.zeros(3, np.int64),
            assumption=None,
            class_miss=None,
        ),
        "never empty": certify(4, "PS-LW", epsilon=0.4, score="aps-plain").without_empty_sets(),
    }


def sharpened(scores: FloatArray) -> FloatArray:
    """A score function of one's own at module level, as pickles need it."""
    return scores**2
