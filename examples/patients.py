"""Several rows of one patient: counted as if they were independent, they break the promise."""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

rng = np.random.default_rng(0)


def visits(n_patients: int, sick: float, each: int = 20) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Scores, labels and patients: in place of your model. A patient looks much the same at every visit."""
    label = (rng.random(n_patients) < sick).astype(int)
    patient = np.repeat(np.arange(n_patients), each)
    logit = (3 * label - 1.5 + rng.normal(0, 1.2, n_patients))[patient] + rng.normal(0, 0.6, len(patient))
    p = np.round(1 / (1 + np.exp(-logit)), 6)  # the same bits on every processor
    names = [f"{'target' if sick > 0.5 else 'source'} {number}" for number in patient]
    return np.column_stack([1 - p, p]), label[patient], names


many, truth, _names = visits(100_000, sick=0.6, each=1)  # a random visit of a random patient
errors: dict[str, list[float]] = {"every row counts": [], "one row of each patient": []}
for _ in range(15):
    source, labels, source_patients = visits(300, sick=0.3)
    target, _truth, target_patients = visits(300, sick=0.6)
    ways = (None, None), (source_patients, target_patients)
    for way, (groups, target_groups) in zip(errors, ways, strict=True):
        rows = pacshift.Rows(source, labels, groups=groups), pacshift.Rows(target, groups=target_groups)
        try:
            certificate = pacshift.calibrate(*rows, epsilon=0.1, delta=0.05)
            errors[way].append(pacshift.evaluate(certificate.sets(many), truth).error)
        except pacshift.AssumptionError:
            pass  # label shift, which holds here, is refused

figure, axes = plt.subplots(figsize=(6, 2.4), layout="constrained")
for place, (way, found) in enumerate(errors.items()):
    broken, refused = sum(error > 0.1 for error in found), 15 - len(found)
    said = f"{refused} of 15 refused, {broken} of {len(found)} broken"
    print(f"{way}: {said}")
    axes.plot([100 * error for error in found], [place] * len(found), "o", color="#0072b2", alpha=0.6)
    axes.text(0.2, place - 0.25, said)

axes.axvline(10, color="black", linestyle="--")
axes.set(yticks=range(2), yticklabels=list(errors), ylim=(1.5, -0.6), xlim=(0, 15))
axes.set(xlabel="true error of the certificates, in % (allowed: 10)")
figure.savefig("patients.png", dpi=150)
print(certificate.explain())  # the last one was made by patient
