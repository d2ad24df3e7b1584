"""A few labels of the target: with a weak model they narrow down the label mix more than predictions do."""

import matplotlib.pyplot as plt

import pacshift

CLASSES = ["no", "yes"]
weak = pacshift.Population.synthetic(CLASSES, strength=0.7, rng=0)  # in place of your model
source, labels = weak.draw([0.9, 0.1], 2_000, rng=1)
target, truth = weak.draw([0.6, 0.4], 4_000, rng=2)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for place, count in enumerate([0, 100, 400, 1_600]):
    # The labelled rows must be a random sample of the target. Here rows come in random order.
    known = [label if row < count else None for row, label in enumerate(truth)] if count else None
    certificate = pacshift.calibrate(
        source, labels, pacshift.Rows(target, known), epsilon=0.1, delta=0.05, classes=CLASSES
    )
    size = certificate.sets(target).sum(axis=1).mean()
    assert certificate.prevalence is not None  # PS-LP bounds the label mix
    low, high = 100 * certificate.prevalence.lower[1], 100 * certificate.prevalence.upper[1]
    print(f"{count:5} labels: {low:.0f} to {high:.0f} % of the target are 'yes', {size:.2f} labels per set")
    axes.hlines(place, low, high, color="#0072b2", lw=8)
    axes.text(high + 1, place, f"{size:.2f} labels per set", va="center")

axes.axvline(40, color="black", linestyle="--")
axes.set(yticks=range(4), yticklabels=["no label", "100 labels", "400 labels", "1,600 labels"], ylim=(3.5, -0.5))
axes.set(xlim=(0, 100), xlabel="share of 'yes' in the target, in % (truth: 40)")
figure.savefig("few_target_labels.png", dpi=150)
