"""Accept sets with one label, ask a person about all others: how many of the accepted are wrong?"""

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

# epsilon is about all sets together. What counts here is the error among sets with one label.
tried = [0.02, 0.05, 0.1]
delta = 0.05 / len(tried)  # one of the certificates is chosen by what it says, so all of them must hold together
accepted, bounds, counted = [], [], []
for epsilon in tried:
    certificate = pacshift.calibrate(source, kinds, target, epsilon=epsilon, delta=delta, classes=CLASSES)
    assert certificate.one_label_error is not None  # None if hardly any set holds one label
    sets = certificate.sets(new)
    has_one_label = sets.sum(axis=1) == 1  # the queue is everything else: several labels, or none
    wrong = np.array(CLASSES)[sets.argmax(axis=1)] != truth
    accepted.append(100 * has_one_label.mean())
    bounds.append(np.ceil(1000 * certificate.one_label_error) / 10)  # a bound is rounded up
    counted.append(100 * wrong[has_one_label].mean())
    print(
        f"epsilon {100 * epsilon:.0f} %: {accepted[-1]:.1f} % accepted, {np.sum(~has_one_label):,} in the queue."
    )
    print(f"  Of the accepted at most {bounds[-1]:.1f} % are wrong (counted later: {counted[-1]:.1f} %).")

# Of those whose bound is good enough, take the one with the shortest queue.
good = [place for place, bound in enumerate(bounds) if bound <= 100 * ALLOWED]
chosen = max(good, key=lambda place: accepted[place])
print(f"With epsilon {100 * tried[chosen]:.0f} % the queue is as short as {100 * ALLOWED:.0f} % allow.")

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.5), layout="constrained")
names = [f"{100 * epsilon:.0f} %" for epsilon in tried]
left.bar(names, accepted, color="#4477aa")
left.set(xlabel="epsilon", ylabel="accepted, %", ylim=(0, 100))
right.bar(names, bounds, color="#cccccc", label="at most")
right.plot(names, counted, "kx", label="counted later")
right.axhline(100 * ALLOWED, color="#aa3377", label="allowed")
right.set(xlabel="epsilon", ylabel="wrong if accepted, %", ylim=(0, 22))
right.legend(loc="upper left")
figure.savefig("accept_or_ask.png", dpi=150)
