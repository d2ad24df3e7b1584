"""The scikit-learn skin: scikit-learn's own checks, every kind of input, and never a set without a certificate."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import pacshift
from certificates import sharpened
from pacshift import AssumptionError, InputError, PacshiftError
from pacshift.estimator import NotCalibratedError, PACClassifier, set_scorer

RATES: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05}
METHOD = "PS-LW"  # needs little data, so the tests stay fast


def wrap(estimator: Any, **options: Any) -> PACClassifier:
    return PACClassifier(estimator, **{**RATES, "method": METHOD, "random_state": 0, **options})


@pytest.fixture(scope="module")
def data() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, y = make_classification(
        3000, n_features=6, n_informative=5, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    return X, y


TRAIN, SOURCE, TARGET = slice(0, 1000), slice(1000, 2000), slice(2000, 3000)


def trained(data: Any, estimator: Any = None, **options: Any) -> PACClassifier:
    X, y = data
    model = wrap(LogisticRegression() if estimator is None else estimator, **options).fit(X[TRAIN], y[TRAIN])
    return model.calibrate(X[SOURCE], y[SOURCE], X[TARGET])


# No expected failures at all: the list that a calibrated classifier would need is empty.
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        PACClassifier(),
        PACClassifier(LogisticRegression(C=1), **RATES),
        PACClassifier(LinearSVC(), **RATES),
        PACClassifier(DecisionTreeClassifier(random_state=0), **RATES),
        PACClassifier(make_pipeline(StandardScaler(), LogisticRegression()), **RATES),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


ASKED: list[dict[str, Any]] = [
    {},
    {"never_empty": True, "epsilon": 0.4},
    {"class_epsilon": 0.2, "contamination": 0.01, "known_mix": {0: (0.0, 0.9)}},
]


@pytest.mark.parametrize("options", ASKED, ids=str)
def test_sets_are_those_of_the_functional_way(data: Any, options: dict[str, Any]) -> None:
    X, y = data
    model = clone(wrap(LogisticRegression(), score_function=np.log1p, **options)).fit(X[TRAIN], y[TRAIN])
    scores = model.calibrate(X[SOURCE], y[SOURCE], X[TARGET]).predict_proba(X)
    asked = RATES | {"method": METHOD, "score": np.log1p} | options
    filled = asked.pop("never_empty", False)
    certificate = pacshift.calibrate(scores[SOURCE], y[SOURCE], scores[TARGET], **asked)
    certificate = certificate.without_empty_sets() if filled else certificate
    assert repr(model.certificate_) == repr(certificate)
    assert np.array_equal(model.certificate_.thresholds, certificate.thresholds)
    assert np.array_equal(model.predict_set(X), certificate.sets(scores))
    assert model.predict_set(X).any(axis=1).all() == options.get("never_empty", False)


def test_a_fitted_estimator_needs_no_fit_and_is_left_alone(data: Any) -> None:
    X, y = data
    fitted = LogisticRegression().fit(X[TRAIN], y[TRAIN])
    for estimator in (fitted, FrozenEstimator(fitted)):
        model = wrap(estimator)
        assert np.array_equal(model.predict(X), fitted.predict(X))
        model.calibrate(X[SOURCE], y[SOURCE], X[TARGET])
        assert model.estimator_ is estimator
        assert np.array_equal(model.predict_set(X), trained(data).predict_set(X))
    frozen = clone(wrap(FrozenEstimator(fitted))).fit(X[SOURCE], y[SOURCE])
    assert np.array_equal(frozen.predict(X), fitted.predict(X))


def test_labels_are_class_names_most_likely_first(data: Any) -> None:
    X, y = data
    names = np.array(["stroke", "tumour", "healthy"])  # not in the order of the columns, which is alphabetic
    model = trained((X, names[y]))
    lists, sets, scores = model.predict_labels(X), model.predict_set(X), model.predict_proba(X)
    assert model.classes_.tolist() == ["healthy", "stroke", "tumour"]
    assert [sorted(labels) for labels in lists] == [model.classes_[row].tolist() for row in sets]
    for labels, row in zip(lists, scores, strict=True):
        columns = [model.classes_.tolist().index(label) for label in labels]
        assert (np.diff(row[columns]) <= 0).all()
    error = pacshift.evaluate(sets[TARGET], names[y][TARGET], classes=model.classes_.tolist()).error
    assert error <= RATES["epsilon"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_text_columns_through_a_pipeline(data: Any, frame: Any) -> None:
    X, y = data
    names = [f"f{j}" for j in range(X.shape[1])]
    table = frame({**dict(zip(names, X.T, strict=True)), "ward": np.where(X[:, 0] > 0, "north", "south")})
    pick = make_column_transformer((OneHotEncoder(), ["ward"]), (StandardScaler(), names))
    model = wrap(make_pipeline(pick, LogisticRegression())).fit(table[TRAIN], y[TRAIN])
    model.calibrate(table[SOURCE], pd.Series(y)[SOURCE], table[TARGET])
    assert model.feature_names_in_.tolist() == [*names, "ward"]
    assert model.n_features_in_ == 7
    assert model.predict_set(table[TARGET]).shape == (1000, 3)


@pytest.mark.parametrize(
    "kind", [list, pd.Series, pl.Series, pd.Categorical, lambda y: pd.Series(y, dtype="category")]
)
@pytest.mark.parametrize("names", [["b", "a", "c"], [7, 1, 3], [True, False, False]])
def test_labels_of_any_kind(data: Any, kind: Any, names: list[Any]) -> None:
    X, y = data
    labels = np.array(names)[y]
    model = wrap(LogisticRegression()).fit(X[TRAIN], kind(labels[TRAIN]))
    model.calibrate(X[SOURCE], kind(labels[SOURCE]), X[TARGET])
    assert model.certificate_.classes == tuple(sorted(set(names)))
    assert model.certificate_.class_counts.sum() == 1000


def test_binary_decision_values_become_two_columns(data: Any) -> None:
    X, y = data
    keep = y < 2
    model = wrap(LinearSVC()).fit(X[TRAIN][keep[TRAIN]], y[TRAIN][keep[TRAIN]])
    model.calibrate(X[SOURCE][keep[SOURCE]], y[SOURCE][keep[SOURCE]], X[TARGET][keep[TARGET]])
    assert not hasattr(model, "predict_proba")
    values = model.decision_function(X)
    expected = np.column_stack([-values, values]) >= model.certificate_.thresholds
    assert np.array_equal(model.predict_set(X), expected)
    # The sets' best label is the classifier's own answer.
    assert np.array_equal(model.classes_[np.column_stack([-values, values]).argmax(axis=1)], model.predict(X))


def test_sets_before_calibrate_are_refused(data: Any) -> None:
    X, y = data
    model = wrap(LogisticRegression()).fit(X[TRAIN], y[TRAIN])
    for ask in (model.predict_set, model.predict_labels):
        with pytest.raises(NotCalibratedError, match=r"calibrate\(X_source, y_source, X_target\) first") as caught:
            ask(X)
        assert isinstance(caught.value, PacshiftError)
        assert isinstance(caught.value, NotFittedError)
    assert not hasattr(model, "certificate_")


def test_an_unfitted_estimator_is_refused(data: Any) -> None:
    X, y = data
    model = wrap(LogisticRegression())
    for ask in (model.predict, model.predict_set, lambda X: model.calibrate(X, y, X)):
        with pytest.raises(NotFittedError, match=r"call fit\(X, y\) first"):
            ask(X)


def test_a_new_fit_drops_the_old_certificate(data: Any) -> None:
    X, y = data
    model = trained(data).fit(X[SOURCE], y[SOURCE])
    with pytest.raises(NotCalibratedError):
        model.predict_set(X)


def test_bad_input_is_named(data: Any) -> None:
    X, y = data
    model = wrap(LogisticRegression()).fit(X[TRAIN], y[TRAIN])
    with pytest.raises(InputError, match="label"):
        model.calibrate(X[SOURCE], y[SOURCE] + 7, X[TARGET])
    with pytest.raises(InputError, match="999 labels for 1,000 rows"):
        model.calibrate(X[SOURCE], y[SOURCE][:-1], X[TARGET])
    with pytest.raises(InputError, match="epsilon"):
        wrap(model.estimator_, epsilon=1.5).calibrate(X[SOURCE], y[SOURCE], X[TARGET])
    with pytest.raises(InputError, match="neither predict_proba nor decision_function"):
        wrap(LinearRegression().fit(X, y)).calibrate(X[SOURCE], y[SOURCE], X[TARGET])
    with pytest.raises(InputError, match="needs target scores"):
        wrap(model.estimator_, method="PS-W").calibrate(X[SOURCE], y[SOURCE])
    two_outputs = RandomForestClassifier(n_estimators=2).fit(X, np.column_stack([y, y]))
    with pytest.raises(InputError, match="one list of classes"):
        wrap(FrozenEstimator(two_outputs)).calibrate(X[SOURCE], y[SOURCE])


REFUSING: dict[str, Any] = {
    "target": lambda model, X, y: model.calibrate(X[SOURCE], y[SOURCE], -3 * X[TARGET]),
    "labels": lambda model, X, y: model.calibrate(X[SOURCE], y[SOURCE] + 7, X[TARGET]),
    "index": lambda model, X, y: model.calibrate(pd.DataFrame(X[SOURCE]), pd.Series(y[SOURCE])[::-1], X[TARGET]),
    "features": lambda model, X, y: model.calibrate(X[SOURCE][:, :2], y[SOURCE], X[TARGET]),
    "epsilon": lambda model, X, y: model.set_params(epsilon=2).calibrate(X[SOURCE], y[SOURCE], X[TARGET]),
    "fit": lambda model, X, y: model.fit(X[TRAIN], y[SOURCE][1:]),
}


@pytest.mark.parametrize("step", REFUSING)
def test_a_step_that_fails_leaves_no_older_answer(data: Any, step: str) -> None:
    model, (X, y) = trained(data), data
    with pytest.raises((PacshiftError, ValueError)) as caught:
        REFUSING[step](model, X, y)
    assert isinstance(caught.value, AssumptionError) == (step == "target")
    assert not hasattr(model, "certificate_")
    assert hasattr(model, "estimator_") == (step != "fit")
    for ask in (model.predict_set, model.predict_labels):
        with pytest.raises(NotFittedError) as said:
            ask(X)
        if step != "fit":  # which leaves no model either
            assert str(caught.value) in str(said.value)
    if step == "target":
        assert "has no certificate (its last calibrate ended with AssumptionError: " in str(said.value)
        model.calibrate(X[SOURCE], y[SOURCE], X[TARGET]).predict_set(X)
        model.fit(X[TRAIN], y[TRAIN])
        with pytest.raises(NotCalibratedError) as said:  # no longer because of that failure
            model.predict_set(X)
        assert "AssumptionError" not in str(said.value)


def test_score_is_accuracy_and_model_selection_works(data: Any) -> None:
    X, y = data
    assert cross_val_score(wrap(LogisticRegression()), X, y, cv=3).min() > 0.7
    search = GridSearchCV(wrap(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=2).fit(X[TRAIN], y[TRAIN])
    assert search.best_estimator_.calibrate(X[SOURCE], y[SOURCE], X[TARGET]).certificate_.guarantee == "pac-target"


def test_models_are_compared_by_the_size_of_their_sets(data: Any) -> None:
    X, y = data
    scorer = pickle.loads(pickle.dumps(set_scorer(X[TARGET])))
    model, others = trained(data), slice(0, 2000)
    certificate = wrap(model.estimator_).calibrate(X[SOURCE], y[SOURCE], X[TARGET]).certificate_
    assert scorer(model, X[SOURCE], y[SOURCE]) == -certificate.sets(model.predict_proba(X[TARGET])).sum(1).mean()
    before = model.certificate_
    scorer(model, X[TRAIN], y[TRAIN])
    assert model.certificate_ is before  # the scorer's own is thrown away
    poor, good = DummyClassifier(), LogisticRegression()
    for scoring in (scorer, set_scorer()):
        search = GridSearchCV(wrap(good), {"estimator": [poor, good]}, cv=2, scoring=scoring)
        search.fit(X[others], y[others])
        assert isinstance(search.best_estimator_.estimator, LogisticRegression)
        assert search.cv_results_["mean_test_score"][0] == -3.0  # a model that knows nothing names all labels


def test_a_scorer_of_sets_takes_frames_and_refuses_what_makes_no_sets(data: Any) -> None:
    X, y = data
    frame = pd.DataFrame(X, index=np.arange(len(X))[::-1])
    labels = pd.Series(y, index=frame.index)
    found = cross_val_score(wrap(LogisticRegression()), frame, labels, cv=2, scoring=set_scorer())
    assert ((found >= -3) & (found < 0)).all()
    appended = make_pipeline(StandardScaler(), wrap(LogisticRegression())).fit(X, y)
    with pytest.raises(InputError, match=r"got Pipeline\. Wrap the model, or the whole pipeline"):
        set_scorer()(appended, X, y)
    assert not hasattr(appended, "calibrate")  # so docs/python.md says: wrap, do not append


def test_random_scores_repeat_and_any_random_state_will_do(data: Any) -> None:
    X, _ = data
    model = trained(data, score_function="aps")
    assert np.array_equal(model.predict_set(X), model.predict_set(X))
    assert np.array_equal(model.predict_set(X), trained(data, score_function="aps").predict_set(X))
    for state in (None, np.random.RandomState(0), np.random.default_rng(0)):
        trained(data, score_function="aps", random_state=state).predict_set(X)


def test_the_oracle_gets_its_weights(data: Any) -> None:
    X, y = data
    model = wrap(LogisticRegression(), method=pacshift.Oracle(weights=[1.0, 1.0, 1.0])).fit(X[TRAIN], y[TRAIN])
    model.calibrate(X[SOURCE], y[SOURCE])
    assert model.certificate_.set_sizes is None
    assert not model.certificate_.trivial


def test_a_calibrated_classifier_survives_a_pickle(data: tuple[NDArray[np.float64], NDArray[np.int64]]) -> None:
    X, y = data
    model = wrap(LogisticRegression(), score_function=sharpened).fit(X[:500], y[:500]).calibrate(X[500:], y[500:])
    back = pickle.loads(pickle.dumps(model))
    assert np.array_equal(back.predict_set(X), model.predict_set(X))


def test_set_output_chooses_the_container_of_sets(data: Any) -> None:
    X, y = data
    names = np.array(["stroke", "tumour", "healthy"])
    model = trained((X, names[y]))
    plain, rows = model.predict_set(X[:4]), pd.DataFrame(X[:4], index=list("abcd"))
    assert type(model.predict_set(rows)) is np.ndarray
    assert model.set_output(transform="pandas") is model
    frame = model.predict_set(rows)
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == list("abcd")
    assert frame.columns.tolist() == model.classes_.tolist()
    assert np.array_equal(frame.to_numpy(), plain)
    assert model.predict_set(X[:4].tolist()).index.tolist() == [0, 1, 2, 3]  # a list has an index too: a method
    assert model.set_output().predict_set(rows).index.tolist() == list("abcd")  # None changes nothing
    assert isinstance(model.set_output(transform="polars").predict_set(X[:4]), pl.DataFrame)
    assert type(model.set_output(transform="default").predict_set(rows)) is np.ndarray
    with pytest.raises(InputError, match="set_output takes default, pandas, polars or None"):
        model.set_output(transform="arrow")  # type: ignore[arg-type]


def test_set_output_is_cloned_and_follows_the_global_setting(data: Any) -> None:
    X, _ = data
    model = trained(data)
    with config_context(transform_output="pandas"):
        assert isinstance(model.predict_set(X[:4]), pd.DataFrame)
        assert type(model.set_output(transform="default").predict_set(X[:4])) is np.ndarray
    copied = clone(model.set_output(transform="pandas"))
    copied.fit(X[TRAIN], data[1][TRAIN]).calibrate(X[SOURCE], data[1][SOURCE], X[TARGET])
    assert isinstance(copied.predict_set(X[:4]), pd.DataFrame)


def test_labels_with_another_index_than_the_features(data: Any) -> None:
    X, y = pd.DataFrame(data[0]), pd.Series(data[1])
    shuffled = y.sample(frac=1, random_state=0)
    model = wrap(LogisticRegression())
    with pytest.raises(InputError, match=r"fit: the X and the y have different indexes.*y.loc\[X.index\]"):
        model.fit(X, shuffled)
    model.fit(X, shuffled.loc[X.index])
    source, target = X[SOURCE], X[TARGET]
    with pytest.raises(InputError, match=r"the X_source and the y_source have different indexes: row 0 is 1000"):
        model.calibrate(source, y[TARGET], target)
    with pytest.raises(InputError, match="the X_target and the target_labels have different indexes"):
        model.calibrate(source, y[SOURCE], target, target_labels=y[SOURCE])
    by_index = model.calibrate(source, y[SOURCE], target).certificate_
    by_position = model.calibrate(source, y[SOURCE].to_numpy(), target).certificate_
    np.testing.assert_array_equal(by_index.thresholds, by_position.thresholds)


@pytest.mark.parametrize("estimator", [LogisticRegression(), Perceptron()], ids=["probabilities", "decisions"])
def test_a_label_sheet_of_the_scores_that_are_calibrated_on(data: Any, estimator: Any) -> None:
    X, y = data
    names = np.array(["crow", "owl", "wren"])[y]
    model = wrap(estimator, method="PS-T").fit(X[TRAIN], names[TRAIN])
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.decision_function
    scores = predict(X[TARGET])
    sheet = pacshift.label_sheet(scores, budget=200, classes=list(model.classes_), rng=0)
    with pytest.raises(pacshift.UnfinishedSheetError, match="0 rows are filled in"):
        model.calibrate(X[SOURCE], names[SOURCE], X[TARGET], labelled=sheet)
    sheet = sheet.with_labels(names[TARGET][sheet.rows])
    model.calibrate(X[SOURCE], names[SOURCE], X[TARGET], labelled=sheet)
    assert (model.certificate_.method, model.certificate_.n_target_labels) == ("PS-T", 200)
    assert not model.certificate_.trivial
    with pytest.raises(InputError, match="was drawn from another target"):
        model.calibrate(X[SOURCE], names[SOURCE], X[SOURCE], labelled=sheet)


def test_after_a_refusal_the_sheet_is_drawn_from_features_by_the_estimator() -> None:
    rng = np.random.default_rng(0)
    y, y_target = rng.integers(0, 2, 12_000), rng.integers(0, 2, 6_000)
    X = rng.normal(size=(12_000, 4)) + 0.8 * y[:, None]
    X_target = pd.DataFrame(1.8 * rng.normal(size=(6_000, 4)) + 0.8 * y_target[:, None] + 1)
    model = wrap(LogisticRegression(), method="PS-W").fit(X[:4000], y[:4000])
    with pytest.raises(AssumptionError) as refused:
        model.calibrate(X[4000:], y[4000:], X_target.to_numpy())
    assert "pacshift.label_sheet" not in str(refused.value)
    draw, again = refused.value.attempt.draw, refused.value.attempt.again
    assert draw == "model.label_sheet(X_target, budget=400, looks=(100, 200)).save('to_label.csv')"
    assert again == "model.calibrate(..., labelled='to_label.csv')"
    sheet = model.label_sheet(X_target.to_numpy(), budget=400, looks=(100, 200), keep=X_target[[0]])
    assert (sheet.epsilon, sheet.delta, list(sheet.kept)) == (0.1, 0.05, ["0"])
    filled = sheet.with_labels(y_target[sheet.rows])
    model.set_params(method="PS-LP").calibrate(X[4000:], y[4000:], X_target.to_numpy(), labelled=filled)
    assert model.certificate_.guarantee == "pac-target"
    with pytest.raises(InputError, match="Pass a dict of columns"):
        model.label_sheet(X_target.to_numpy(), budget=400, keep=["id"])


def test_a_sheet_of_features_is_refused_before_anybody_labels_them() -> None:
    rng = np.random.default_rng(0)
    features = pd.DataFrame({"age": rng.integers(1, 14, 500), "sex": rng.integers(0, 2, 500)})
    with pytest.raises(InputError, match=r"column 'sex' holds only 0 and 1, others do not.* model.predict_proba"):
        pacshift.label_sheet(features, budget=100)
    pacshift.label_sheet(rng.normal(0, 3, (500, 2)), budget=100)  # logits
    pacshift.label_sheet(np.eye(2)[rng.integers(0, 2, 500)], budget=100)  # one-hot answers
