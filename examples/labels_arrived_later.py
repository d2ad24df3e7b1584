"""My target labels arrived later: was the guarantee kept?"""

import matplotlib.pyplot as plt
import numpy as np

import pacshift
from pacshift.bounds import clopper_pearson
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
result = pacshift.evaluate(certificate.sets(scores), confirmed, classes=CLASSES)
misses = round(result.error * result.n)
interval = clopper_pearson(np.array([misses]), result.n, delta=0.05)

print("promised: at most 10 % missed, with confidence 95 %")
print(f"counted:  {misses} of {result.n} missed ({100 * result.error:.1f} %), {result.size:.2f} labels per set")
low, high = 100 * interval.lower[0], 100 * interval.upper[0]
print(f"so the true share lies between {low:.1f} and {high:.1f} % (95 % interval)")
# A sample can exceed the promise by chance; the promise is broken only if the whole interval lies above it.
broken = bool(interval.lower[0] > certificate.epsilon)
print("the guarantee was BROKEN: doubt label shift" if broken else "nothing here contradicts the guarantee")

# The promise is about all patients together. Class by class the sets may miss more or less: the certificate bounds
# how often (the bars), and the counts of spring lie within (the crosses).
for name, error, count in zip(CLASSES, result.class_error, result.class_counts, strict=True):
    print(f"  {name:10} {100 * error:5.1f} % of {count}")
figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
class_misses(certificate, ax=axes)
axes.plot(result.class_error, range(len(CLASSES)), "kx", markersize=10, markeredgewidth=2)
figure.savefig("labels_arrived_later.png", dpi=150)
# On the command line: pacshift check certificate.json labelled.parquet --label diagnosis
