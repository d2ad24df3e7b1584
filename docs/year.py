"""A year with pacshift: a simulated hospital, twelve months, a pandemic in May, a scanner that fails in autumn."""

import numpy as np
from matplotlib.figure import Figure

from pacshift import Monitor, Tally, calibrate, label_sheet
from pacshift.plots.axes import WIDTH
from pacshift.report import history, write_history_page
from pacshift.words.numbers import given

# --8<-- [start:hospital]
NAMES = ["healthy", "pneumonia", "covid"]
LOOKS = np.array([[3.0, 0.0, 0.0], [0.5, 3.0, 0.5], [1.0, 0.5, 2.5]])  # what the model sees in each class
rng = np.random.default_rng(2026)


def patients(n, mix, scanner=0.0):
    """Scores and diagnoses. A new scanner makes everybody look healthier to the model."""
    labels = rng.choice(3, n, p=mix)
    logits = rng.normal(LOOKS[labels], 1.2)
    logits[:, 0] += scanner
    odds = np.exp(logits)
    scores = odds / odds.sum(axis=1, keepdims=True)
    return scores.round(6), np.array(NAMES)[labels]  # rounded: the same bits on every processor


USUAL = [0.86, 0.12, 0.02]
MONTHS = dict.fromkeys(("Jan", "Feb", "Mar", "Apr", "Aug", "Sep", "Oct", "Nov", "Dec"), USUAL)
MONTHS |= {"May": [0.35, 0.10, 0.55], "Jun": [0.60, 0.10, 0.30], "Jul": [0.80, 0.12, 0.08]}
CALENDAR = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# --8<-- [end:hospital]

# --8<-- [start:begin]
last_year = patients(60_000, USUAL)  # with diagnoses
source = Tally.from_scores(*last_year, classes=NAMES)
january = patients(5_000, USUAL)[0]
first = calibrate(source + Tally.from_target(january, classes=NAMES), epsilon=0.04, delta=0.05)
monitor = Monitor(source, epsilon=0.05, delta=0.05, forever=True, certificate=first, state="watch")
# --8<-- [end:begin]

# --8<-- [start:months]
for number, month in enumerate(CALENDAR[:9], start=1):
    new_scanner = 4.0 if month in CALENDAR[8:] else 0.0
    scores, diagnoses = patients(6_000, MONTHS[month], new_scanner)  # the diagnoses are not known yet
    report = monitor.update(scores, month, start=f"2026-{number:02d}-01")
    fresh = "" if report.fresh_size is None else f", fresh sets at 5 % would have {report.fresh_size:.2f}"
    print(f"{month}: {report.verdict}, {report.size:.2f} labels in a set at {given(report.in_use_epsilon)}{fresh}")
    if report.verdict == "broken":
        monitor.adopt(report.fresh)
        print("     the fresh certificate of this month is used from now on")
    if report.verdict == "shift-rejected":
        print(f"     {report.finding}")
# --8<-- [end:months]

write_history_page(monitor, "until-september.html")

# --8<-- [start:sheet]
sheet = label_sheet(scores, budget=400, epsilon=0.05, delta=0.05, rng=9)
sheet = sheet.with_labels(diagnoses[sheet.rows])  # September's patients whom the sheet names, diagnosed by hand
by_labels = calibrate(*last_year, scores, labelled=sheet, method="PS-T", epsilon=0.05, delta=0.05, classes=NAMES)
size = by_labels.sets(scores).sum(axis=1).mean()
print(f"September: {len(sheet.rows):,} labelled rows certify sets of {size:.2f} labels")
monitor.adopt(by_labels)
# --8<-- [end:sheet]

# --8<-- [start:again]
for number, month in enumerate(CALENDAR[9:], start=10):
    new_scanner = 4.0 if month == "Oct" else 0.0  # repaired in November
    report = monitor.update(patients(6_000, MONTHS[month], new_scanner)[0], month, start=f"2026-{number:02d}-01")
    fresh = "" if report.fresh_size is None else f", fresh sets at 5 % would have {report.fresh_size:.2f}"
    print(f"{month}: {report.verdict}, {report.size:.2f} labels in a set at {given(report.in_use_epsilon)}{fresh}")
    if report.verdict == "broken":
        monitor.adopt(first)  # the usual patients, the usual scanner: January's certificate
# --8<-- [end:again]

write_history_page(monitor, "whole-year.html")

# The pictures of this page, the same as on the HTML page.
pictures = {
    "year-error": (lambda figure: history.error_over_time(monitor.history, figure), 3.2),
    "year-mix": (
        lambda figure: history.mix_over_time(monitor.history, source.class_counts / source.n_source, figure),
        4.2,
    ),
}
for name, (draw, height) in pictures.items():
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    draw(figure)
    figure.savefig(f"{name}.png", dpi=150)
