"""How many rows must be labelled? A plan from a small pilot, before money is spent on labels."""

import matplotlib.pyplot as plt

import pacshift
from pacshift.plots import plan_curve

CLASSES = ["healthy", "benign", "malignant"]
clinic = pacshift.Population.synthetic(CLASSES, strength=3, rng=0)  # in place of your model
pilot, labels = clinic.draw([0.7, 0.2, 0.1], 1_500, rng=1)  # the rows that are labelled already

plan = pacshift.plan(
    pilot,
    labels,
    classes=CLASSES,
    target_mix={"healthy": 0.3, "benign": 0.3, "malignant": 0.4},  # what you expect
    n_source=4_000,
    n_target=10_000,
    epsilon=0.1,
    delta=0.05,
)
low, high = plan.interval
print(f"{plan.n_source:,} labelled rows: {plan.size:.2f} labels per set.")
print(f"In about 90 % of cases {low:.2f} to {high:.2f} labels.")
print(f"Label rows of class {plan.bottleneck!r} first.")
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
plan_curve(plan, ax=axes)
figure.savefig("how_many_labels.png", dpi=150)
