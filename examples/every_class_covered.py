"""Who pays for the misses? The promise is about all rows together; a cap protects the rare class."""

import matplotlib.pyplot as plt

import pacshift
from pacshift.plots import class_misses

CLASSES = ["healthy", "flu", "pneumonia"]
clinic = pacshift.Population.synthetic(CLASSES, strength=3, rng=0)  # in place of your model
source, labels = clinic.draw([0.70, 0.20, 0.10], 20_000, rng=1)
target, truth = clinic.draw([0.50, 0.45, 0.05], 20_000, rng=2)

figure, axes = plt.subplots(2, 1, figsize=(8, 4.5), sharex=True, layout="constrained")
for ax, cap in zip(axes, (None, 0.1), strict=True):
    certificate = pacshift.calibrate(
        source, labels, target, epsilon=0.1, delta=0.05, classes=CLASSES, class_epsilon=cap
    )
    result = pacshift.evaluate(certificate.sets(target), truth, classes=CLASSES)
    missed = ", ".join(f"{100 * error:.1f} % of {CLASSES[k]}" for k, error in enumerate(result.class_error))
    print(f"class_epsilon={cap}: misses {100 * result.error:.1f} % ({missed}), {result.size:.2f} labels per set")
    class_misses(certificate, ax=ax)  # its legend stands above, at the right
    ax.set_title(f"class_epsilon={cap}: {result.size:.2f} labels per set", loc="left", fontsize=10)
axes[0].set_xlim(0, 0.35)
figure.savefig("every_class_covered.png", dpi=150)
