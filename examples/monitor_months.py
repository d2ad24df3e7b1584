"""Six months of new data: do the sets in use still hold, and when is a new certificate needed?"""

import numpy as np
from matplotlib.figure import Figure

import pacshift
from pacshift.report.history import error_over_time

CLASSES = ["order", "delivery", "refund"]
USUAL = np.array([0.6, 0.3, 0.1])
MONTHS = dict.fromkeys(["Aug", "Sep", "Oct", "Nov", "Dec", "Jan"], USUAL) | {"Dec": np.array([0.2, 0.2, 0.6])}
mail = pacshift.Population.synthetic(CLASSES, strength=3, rng=0)


def letters(mix: np.ndarray, n: int, rng: int) -> tuple[np.ndarray, np.ndarray]:
    """In place of your model: scores and topics. It learned that refunds are rare."""
    scores, topics = mail.draw(mix, n, rng)
    odds = scores * USUAL
    return odds / odds.sum(axis=1, keepdims=True), topics


source = pacshift.Tally.from_scores(*letters(USUAL, 20_000, rng=1), classes=CLASSES)
july = pacshift.Tally.from_target(letters(USUAL, 5_000, rng=2)[0], classes=CLASSES)
# Certified at a stricter epsilon than the 10 % that are watched: small changes of the mix then do not matter.
certificate = pacshift.calibrate(source + july, epsilon=0.08, delta=0.05)
monitor = pacshift.Monitor(source, epsilon=0.1, delta=0.05, certificate=certificate)

for number, (month, mix) in enumerate(MONTHS.items()):
    scores, _ = letters(mix, 5_000, rng=10 + number)  # nobody labels these
    report = monitor.update(scores, month)
    print(f"{month}: {report.verdict}. {report.finding}")

figure = Figure(figsize=(7, 3), layout="constrained")
error_over_time(monitor.history, figure)
figure.savefig("monitor_months.png", dpi=150)
