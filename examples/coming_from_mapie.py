"""Coming from MAPIE: the same task with both libraries, before and after the label mix has changed."""

import numpy as np
from mapie.classification import SplitConformalClassifier
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import pacshift

# A model, labelled calibration data, and a target in which class 2 has become frequent. Its labels are unknown
# to both libraries; we use them at the end, to see who kept the promise.
X, y = make_classification(60_000, n_informative=4, n_classes=3, class_sep=1.2, weights=[0.6, 0.3], random_state=0)
train, source = np.arange(5_000), np.arange(5_000, 30_000)
target = 30_000 + pacshift.resample(y[30_000:], [0.1, 0.2, 0.7], 20_000, np.random.default_rng(0))
model = LogisticRegression().fit(X[train], y[train])

# MAPIE
conformal = SplitConformalClassifier(model, confidence_level=0.9, prefit=True, random_state=0)
conformal.conformalize(X[source], y[source])
their_sets = conformal.predict_set(X[target])[1][:, :, 0]

# pacshift: the unlabelled target is one more argument
scores = model.predict_proba(X).round(6)  # rounded: the same bits, and so the same output, on every processor
certificate = pacshift.calibrate(scores[source], y[source], scores[target], epsilon=0.1, delta=0.05)
our_sets = certificate.sets(scores[target])

for name, sets in (("MAPIE", their_sets), ("pacshift", our_sets)):
    result = pacshift.evaluate(sets, y[target])
    print(f"{name:8} misses {100 * result.error:.1f} % (10 % allowed), {result.size:.2f} labels per set")
