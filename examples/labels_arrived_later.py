"""My target labels arrived later: was the guarantee kept?"""

import numpy as np

import pacshift
from pacshift.bounds import clopper_pearson

CLASSES = ["healthy", "flu", "pneumonia"]
rng = np.random.default_rng(0)


def clinic(n: int, mix: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the model and the diagnoses of n patients."""
    ill = rng.choice(3, n, p=mix)
    logits = rng.normal(size=(n, 3)) + 2.2 * np.eye(3)[ill]
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), np.array(CLASSES)[ill]


# In summer: calibrate for the coming winter, from labelled summer patients and unlabelled winter ones.
summer, diagnoses = clinic(20_000, [0.85, 0.10, 0.05])
winter, _ = clinic(20_000, [0.45, 0.40, 0.15])
certificate = pacshift.calibrate(summer, diagnoses, winter, epsilon=0.1, delta=0.05, classes=CLASSES)
certificate.save("certificate.json")

# In spring: some winter diagnoses are confirmed. Only now can anyone count.
certificate = pacshift.Certificate.load("certificate.json")
scores, confirmed = clinic(2_000, [0.45, 0.40, 0.15])
result = pacshift.evaluate(certificate.sets(scores), confirmed, classes=CLASSES)
misses = round(result.error * result.n)
interval = clopper_pearson(np.array([misses]), result.n, delta=0.05)

print(f"promised: at most {certificate.epsilon:.0%} missed, with confidence {1 - certificate.delta:.0%}")
print(f"counted:  {misses} of {result.n} missed ({result.error:.1%}), {result.size:.2f} labels a set")
print(f"so the true share lies between {interval.lower[0]:.1%} and {interval.upper[0]:.1%} (95 % interval)")
# A sample can lie above the promise by chance; only an interval that lies above it as a whole would break it.
broken = bool(interval.lower[0] > certificate.epsilon)
print("the guarantee was BROKEN: doubt label shift" if broken else "nothing here contradicts the guarantee")

# The promise is about all patients together; class by class the sets may miss more or less.
for name, error, count in zip(CLASSES, result.class_error, result.class_counts, strict=True):
    print(f"  {name:10} {error:6.1%} of {count}")
# On the command line: pacshift check certificate.json labelled.parquet --label diagnosis
