"""Label shift is false here: see it refused."""

import numpy as np

import pacshift

rng = np.random.default_rng(0)


def scanner(n: int, mix: list[float], haze: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels of n images; ``haze`` makes every image look more like class 0."""
    labels = rng.choice(3, n, p=mix)
    logits = rng.normal(size=(n, 3)) + 2.0 * np.eye(3)[labels]
    logits[:, 0] += haze
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), labels


source, labels = scanner(20_000, [0.6, 0.3, 0.1], haze=0.0)

# The same scanner, other patients: label shift holds, and there is a certificate.
same, _ = scanner(20_000, [0.2, 0.3, 0.5], haze=0.0)
certificate = pacshift.calibrate(source, labels, same, epsilon=0.1, delta=0.05)
print("same scanner:", certificate.explain().splitlines()[0])

# A new scanner: even if every patient had class 0, the old one would have called fewer of them so.
other, _ = scanner(20_000, [0.2, 0.3, 0.5], haze=4.0)
try:
    pacshift.calibrate(source, labels, other, epsilon=0.1, delta=0.05)
except pacshift.AssumptionError as refusal:
    print("new scanner: ", refusal)
else:
    raise SystemExit("the change went unnoticed")
