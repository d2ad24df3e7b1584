"""Label shift is false here: see it refused."""

import numpy as np

import pacshift

rng = np.random.default_rng(0)


def scanner(n: int, mix: list[float], blur: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels; ``blur`` is how much worse a scanner separates the classes."""
    labels = rng.choice(3, n, p=mix)
    logits = rng.normal(size=(n, 3)) + (3.0 - blur) * np.eye(3)[labels]
    logits[:, 0] += blur  # and it pulls everything towards class 0
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), labels


source, labels = scanner(20_000, [0.6, 0.3, 0.1], blur=0.0)

# The same scanner, other patients: label shift holds, and there is a certificate.
same, _ = scanner(20_000, [0.2, 0.3, 0.5], blur=0.0)
certificate = pacshift.calibrate(source, labels, same, epsilon=0.1, delta=0.05)
print("same scanner:", certificate.explain().splitlines()[0])

# A new scanner: within a class the scores changed, and more cases look like class 0 than any label mix allows.
other, _ = scanner(20_000, [0.9, 0.05, 0.05], blur=3.0)
try:
    pacshift.calibrate(source, labels, other, epsilon=0.1, delta=0.05)
except pacshift.AssumptionError as refusal:
    print("new scanner: ", refusal)
else:
    raise SystemExit("the change went unnoticed")
