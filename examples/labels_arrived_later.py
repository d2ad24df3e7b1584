"""My target labels arrived later: was the guarantee kept?"""

import matplotlib.pyplot as plt

import pacshift
from pacshift.plots import class_misses

CLASSES = ["healthy", "flu", "pneumonia"]
SUMMER, WINTER = [0.85, 0.10, 0.05], [0.45, 0.40, 0.15]

# In place of your model: its scores and the diagnoses of patients, drawn to the label mix of a season.
clinic = pacshift.Population.synthetic(CLASSES, strength=3, rng=0)

# In summer: calibrate for the coming winter, from labelled summer patients and unlabelled winter ones.
summer, diagnoses = clinic.draw(SUMMER, 20_000, rng=1)
winter, _ = clinic.draw(WINTER, 20_000, rng=2)
certificate = pacshift.calibrate(summer, diagnoses, winter, epsilon=0.1, delta=0.05, classes=CLASSES)
certificate.save("certificate.json")

# In spring: some winter diagnoses are confirmed. Only now can errors be counted.
certificate = pacshift.Certificate.load("certificate.json")
scores, confirmed = clinic.draw(WINTER, 2_000, rng=3)
found = pacshift.check(certificate, scores, confirmed)
print(f"{found.verdict}: {found.text}")
# A sample can exceed the promise by chance: it is broken only if the whole interval lies above epsilon.

# The promise is about all patients together. Class by class the sets may miss more or less: the certificate bounds
# how often (the bars), and the counts of spring lie within (the crosses).
result = found.evaluation
for name, error, count in zip(CLASSES, result.class_error, result.class_counts, strict=True):
    print(f"  {name:10} {100 * error:5.1f} % of {count}")
figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
class_misses(certificate, ax=axes)
axes.plot(
    result.class_error, range(len(CLASSES)), "kx", markersize=10, markeredgewidth=2, label="counted in spring"
)
axes.legend(loc="upper right")
figure.savefig("labels_arrived_later.png", dpi=150)
# On the command line: pacshift check certificate.json labelled.parquet --label diagnosis
