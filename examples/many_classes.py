"""A hundred classes: the default method keeps the sets small, where a bound for each class alone cannot."""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

catalogue = pacshift.Population.synthetic(100, strength=7, rng=0)  # in place of your model
shares = np.geomspace(4, 1, 100) / np.geomspace(4, 1, 100).sum()
source, labels = catalogue.draw(shares, 20_000, rng=1)
target, truth = catalogue.draw(shares[::-1], 20_000, rng=2)  # what was frequent is now rare

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, style, colour in (("PS-LP", "o-", "#0072b2"), ("PS-LW", "x--", "#8a939c")):
    certificate = pacshift.calibrate(source, labels, target, epsilon=0.1, delta=0.05, method=name)
    sets = certificate.sets(target)
    result = pacshift.evaluate(sets, truth)
    print(f"{name}: misses {100 * result.error:.1f} % (10 % allowed), {result.size:.2f} labels per set")
    sizes = np.bincount(sets.sum(axis=1), minlength=9)[:9] / len(sets)
    axes.plot(range(9), 100 * sizes, style, color=colour, label=f"{name}: {result.size:.2f} labels per set")
axes.set(xlabel="labels in the set", ylabel="target rows, in %")
axes.legend(frameon=False)
figure.savefig("many_classes.png", dpi=150)
