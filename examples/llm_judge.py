"""How many answers of a language model are correct, if a judge that errs has read them, and people only a few?"""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

VERDICTS = ["wrong", "correct"]
rng = np.random.default_rng(0)


def judged(n: int, share_correct: float) -> tuple[np.ndarray, np.ndarray]:
    """In place of your judge: its verdict on each answer, and the truth. It is too kind to wrong answers."""
    correct = rng.random(n) < share_correct
    says_correct = rng.random(n) < np.where(correct, 0.94, 0.22)
    return says_correct, correct


def scores(says_correct: np.ndarray) -> np.ndarray:
    """The judge's verdict as a score of each class. If your judge gives a probability, take [1 - p, p]."""
    return np.where(says_correct[:, None], [0.1, 0.9], [0.9, 0.1])


source, human = judged(2_000, share_correct=0.80)  # answers of last month's model, read by people too
labels = np.array(VERDICTS)[human.astype(int)]
shares, low, high, said = [0.80, 0.65, 0.50], [], [], []
for share in shares:  # new models, read by the judge alone
    target, _ = judged(10_000, share)
    found = pacshift.prevalence(scores(source), labels, scores(target), delta=0.05, classes=VERDICTS)
    low.append(np.floor(1000 * found.mix.lower[1]) / 10)
    high.append(np.ceil(1000 * found.mix.upper[1]) / 10)
    said.append(100 * target.mean())
    interval = f"{low[-1]:.1f} to {high[-1]:.1f} %"
    print(f"judge: {said[-1]:.1f} % correct; 95 % interval {interval}; truth {100 * share:.0f} %")

figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
names = ["like last month's", "model B", "model C"]
axes.hlines(names, low, high, color="#0072b2", lw=8, label="95 % interval")
axes.plot(100 * np.array(shares), names, "k|", ms=18, mew=2, label="truth")
axes.plot(said, names, "x", color="#8a939c", ms=9, mew=2, label="what the judge says")
axes.set(xlabel="correct answers, in %", xlim=(0, 100))
axes.margins(y=0.25)
axes.invert_yaxis()
axes.legend(frameon=False, loc="lower left")
figure.savefig("llm_judge.png", dpi=150)
