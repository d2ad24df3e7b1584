"""Accept the model's answer by itself or ask a person: at most 10 % of what is accepted is wrong."""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

CLASSES = ["invoice", "order", "complaint", "other"]
LAST_YEAR, THIS_YEAR = [0.55, 0.25, 0.05, 0.15], [0.35, 0.20, 0.30, 0.15]
ALLOWED = 0.10  # of the letters that nobody looks at, this share may be sorted wrongly

# In place of your model: its scores and the true kinds of letters, drawn to the label mix of a year.
letters = pacshift.Population.synthetic(CLASSES, strength=3, rng=0)
source, kinds = letters.draw(LAST_YEAR, 20_000, rng=1)
target, _ = letters.draw(THIS_YEAR, 20_000, rng=2)
new, truth = letters.draw(THIS_YEAR, 10_000, rng=3)  # the letters of next week; nobody knows their kinds yet

certificate = pacshift.accept(source, kinds, target, error=ALLOWED, classes=CLASSES)
print(certificate.explain())

sets = certificate.sets(new)
accepted = sets.sum(axis=1) == 1  # the set of a letter that a person must look at holds every kind
answer = np.array(CLASSES)[sets.argmax(axis=1)]
print(f"{100 * accepted.mean():.1f} % of the new letters are accepted, {np.sum(~accepted):,} are in the queue.")
print(f"Counted later: {100 * np.mean(answer[accepted] != truth[accepted]):.1f} % of the accepted were wrong.")

# The promise is about all accepted letters together. Some kinds err more, and the certificate says how much.
assert certificate.accepted_error is not None
wrong = [np.mean(truth[accepted & (answer == kind)] != kind) for kind in CLASSES]
for kind, least, most, counted in zip(
    CLASSES, certificate.accepted_error.lower, certificate.accepted_error.upper, wrong, strict=True
):
    bounds = f"{100 * least:.1f} to {100 * most:.1f} %"
    print(f"  accepted as {kind}: {bounds} wrong, counted later {100 * counted:.1f} %")

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.5), layout="constrained")
left.bar(CLASSES, [100 * accepted[new.argmax(axis=1) == place].mean() for place in range(4)], color="#4477aa")
left.set(ylabel="accepted, %", ylim=(0, 100))
right.bar(CLASSES, 100 * certificate.accepted_error.upper, color="#cccccc", label="at most")
right.plot(CLASSES, 100 * np.array(wrong), "kx", label="counted later")
right.axhline(100 * ALLOWED, color="#aa3377", label="allowed, all together")
right.set(ylabel="wrong if accepted, %")
right.legend(loc="upper left")
for ax in (left, right):
    ax.tick_params(axis="x", labelsize=8)
figure.savefig("accept_or_ask.png", dpi=150)
