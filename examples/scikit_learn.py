"""scikit-learn in ten lines: fit, calibrate for a target with another label mix, predict sets."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from pacshift import PACClassifier, resample

# Half of the rows are the past (train, then calibrate); the other half is drawn again to a new label mix.
X, y = make_classification(30_000, n_informative=4, n_classes=3, class_sep=1.2, random_state=0)
train, source = np.arange(5_000), np.arange(5_000, 15_000)
target = 15_000 + resample(y[15_000:], [0.6, 0.3, 0.1], 10_000, np.random.default_rng(0))

forest = RandomForestClassifier(min_samples_leaf=10, random_state=0)
model = PACClassifier(forest, epsilon=0.1, delta=0.01).fit(X[train], y[train])
model.calibrate(X[source], y[source], X[target])  # the target's labels are not used

print(model.certificate_.explain())
print("first five sets:", model.predict_labels(X[target][:5]))
missed = 1 - model.predict_set(X[target])[np.arange(10_000), y[target]].mean()
print(f"missed on the target: {100 * missed:.1f} %, allowed: 10 %")
