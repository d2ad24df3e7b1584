"""What a method is: a frozen set of options that turns a tally into thresholds, and the facts about it.

Everything the package says about a method (certificate, report, command line) is read from these facts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin

import numpy as np

from pacshift.acceptance.tops import TopScoreTable
from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.errors import InputError, param
from pacshift.methods.guarantee import Guarantee
from pacshift.paths.labelled import CountLabels, LabelledTarget, RowsToPlan, smallest
from pacshift.paths.sample import RowSample
from pacshift.progress import Steps
from pacshift.rows.rule import Rule, SetRule
from pacshift.tally import Tally
from pacshift.words.numbers import one_of


@dataclass(frozen=True, slots=True, eq=False)
class RowAccess:
    """What only the rows behind the counts can tell. Every call reads all of them again.

    That may take as long as counting did, so a method calls what it needs, once.

    Each is None where rows are not at hand, or where reading them again would take too long.

    Parameters
    ----------
    mean_sizes : callable, optional
        Mean set sizes on the target for each vector of thresholds in a list.
    sample : callable, optional
        Samples of the source's and the target's score rows, to plan with. Source rows may only be looked at if
        they have no part in the certificate.
    top_scores : callable, optional
        The rows of source and target by predicted label and top score.
    rows_to_plan : callable, optional
        Rows that say after a refusal what labels would bring.
    """

    mean_sizes: CountLabels | None = None
    sample: Callable[[], RowSample] | None = None
    top_scores: Callable[[], tuple[TopScoreTable, TopScoreTable]] | None = None
    rows_to_plan: Callable[[], RowsToPlan] | None = None


NO_ROWS = RowAccess()
"""Counts are all there is."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What the user asked for.

    Parameters
    ----------
    epsilon : float
        Share of true labels that the sets may miss, of the part of the target that is label-shifted.
    delta : float
        Allowed chance that the calibration data mislead us.
    seed : int
        For methods that throw coins: ``pacshift.tally.coins.score_coins(purpose, tally, task.seed)`` gives numbers
        that are independent of the counts. A generator laid over the counts, which are sorted, would not be.
    rows : RowAccess
        What the rows themselves can tell, such as the sizes of sets. Empty if only a tally is at hand.
    known : Interval, optional
        Bounds of the target's label mix that the user is sure of and, for methods with ``uses_mix_bounds``, that
        labels of target rows prove. A method may use them to make sets smaller. They may depend on the target.
    limits : array of shape (K,), optional
        Of what is accepted as each label at most this share may be wrong; 1 where no limit was asked for.
    contamination : float
        Share of the target that need not be label-shifted. ``epsilon`` allows for it already; a method that looks
        at target counts must allow for it too.
    labelled : LabelledTarget, optional
        Labelled rows of the target, for methods with ``needs_labels``.
    steps : Steps
        For methods that take long: ``steps.expect(n)`` says that about n steps are to come, ``steps()`` that one
        is done. May be left alone.
    plan_delta : float, optional
        The level that rules by labels are planned for, whatever ``delta`` is: they are tested at one share of the
        request's or at all of it, and must be the same rules. None: ``delta``.
    """

    epsilon: float
    delta: float
    seed: int = 0
    rows: RowAccess = NO_ROWS
    known: Interval | None = None
    limits: FloatArray | None = None
    contamination: float = 0.0
    labelled: LabelledTarget | None = None
    steps: Steps = field(default_factory=Steps)
    plan_delta: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AcceptedByLabel:
    """Bounds for each predicted label: the share that is accepted, and the share of these that is wrong."""

    share: Interval
    error: Interval

    def at(self, thresholds: FloatArray) -> "AcceptedByLabel":
        """The same for thresholds of which some are infinite: nothing is accepted as these labels, for sure."""
        used = np.isfinite(thresholds) | np.isneginf(thresholds)
        return AcceptedByLabel(*(Interval(one.lower * used, one.upper * used) for one in (self.share, self.error)))


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What a method found.

    Parameters
    ----------
    thresholds : array of shape (K,)
        One threshold per class. A label is in the set where its score is at least its threshold.
    weights, prevalence : Interval, optional
        Bounds of q(y)/p(y) and of q(y), where the method computes them.
    accuracy : float, optional
        Lower bound of the classifier's accuracy on the target.
    reasons : tuple of str
        Why thresholds are -inf, one sentence per cause.
    notes : tuple of str
        What else a certificate should say, in full sentences.
    tuned_on : str
        What thresholds per class were tuned on, ``"score rows"`` or ``"counts"``; "" if they were not tuned.
    by_label : callable, optional
        Where the top label is accepted or a person is asked: bounds for each predicted label, all of them right
        with probability at least 1 minus the level that it is given. A statement beside the promise.
    """

    thresholds: FloatArray
    weights: Interval | None = None
    prevalence: Interval | None = None
    accuracy: float | None = None
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tuned_on: str = ""
    by_label: Callable[[float], AcceptedByLabel | None] | None = None


class Method(ABC):
    """A method: its facts, and ``solve``. A method of your own inherits from this class.

    It need not be listed in ``METHODS`` to be used, saved, loaded, explained or shown in a report. Options are the
    fields of a (frozen) dataclass.

    Attributes
    ----------
    name : str
        What certificates call the method.
    idea : str
        One line that says how it works.
    rule : {SetRule, AcceptRule}
        What is done with scores at the thresholds that ``solve`` finds.
    guarantee : {"pac-target", "pac-source", "marginal", "none"}
        What it promises; ``"none"`` unless a method says otherwise.
    any_mix : bool
        Whether the promise holds for every label mix of the target, and so within each class.
    assumes_label_shift : bool
        Whether a promise about the target rests on label shift; else on labelled target rows.
    extra_assumption : str
        What the promise assumes beyond label shift, in one or two full sentences; may depend on the options.
    default_score : str
        The score transform used unless the user chooses another.
    needs_target : bool
        Whether target scores are required.
    needs_predicted : bool
        Whether ``solve`` looks at predicted labels (``tally.confusion``, ``tally.target``, cells). If not, they
        are counted only where label shift is tested, and a certificate does not state them.
    needs_soft : bool
        Whether the tally must hold sums of probabilities.
    needs_bins : bool
        Whether the tally should hold the target's scores in coarse bins.
    needs_weights : bool
        Whether the user must give the true importance weights.
    needs_labels : bool
        Whether labelled target rows are required (``task.labelled``).
    allows_contamination : bool
        Whether ``solve`` allows for ``task.contamination`` in what it sees of the target (Lemma 4 of
        docs/methods/trust-proofs.md). Methods that do not look at the target need not.
    uses_mix_bounds : bool
        Whether ``solve`` uses ``task.known``. Only then are bounds from target labels part of it, at a share of
        delta.
    version : str
        Changes when the method gives other thresholds for the same data.

    Examples
    --------
    >>> from pacshift import METHODS
    >>> METHODS["PS-LW"]().any_mix, METHODS["ORACLE"]().extra_assumption
    (True, 'The weights given are the true ones.')
    """

    name: ClassVar[str]
    idea: ClassVar[str] = ""
    rule: ClassVar[type[Rule]] = SetRule
    guarantee: ClassVar[Guarantee] = "none"
    any_mix: ClassVar[bool] = False
    assumes_label_shift: ClassVar[bool] = True
    default_score: ClassVar[str] = "probability"
    needs_target: ClassVar[bool] = False
    needs_predicted: ClassVar[bool] = True
    needs_soft: ClassVar[bool] = False
    needs_bins: ClassVar[bool] = False
    needs_weights: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    allows_contamination: ClassVar[bool] = False
    uses_mix_bounds: ClassVar[bool] = False
    version: ClassVar[str] = "1"

    @property
    def by_labels(self) -> "Method":
        """Who certifies in this method's place by labelled target rows alone, whatever the shift."""
        from pacshift.methods.ps_t import PST

        return PST()

    def too_many(self, n_classes: int, limits: FloatArray | None) -> str:
        """Why so many classes or limits cannot be tested under label shift; "" if they can.

        Parameters
        ----------
        n_classes : int
            Number of classes.
        limits : array of shape (K,) or None
            The limit of each class; 1 where there is none.

        Returns
        -------
        str
            A sentence, or "".
        """
        return ""

    def best_of(self, thresholds: Sequence[FloatArray], tally: Tally, task: Task) -> int:
        """The place of the most useful of thresholds that all hold: those with the smallest sets.

        Parameters
        ----------
        thresholds : sequence of array of shape (K,)
            Thresholds that are certified at once, so that any of them may be chosen.
        tally : Tally
            Counts of source and target.
        task : Task
            What the user asked for.

        Returns
        -------
        int
        """
        return smallest(tally, thresholds, task.rows.mean_sizes)

    @property
    def extra_assumption(self) -> str:
        """What the promise assumes beyond label shift; "" if nothing."""
        return ""

    @abstractmethod
    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class.

        Parameters
        ----------
        tally : Tally
            Counts of the source and, where the method needs it, of the target.
        task : Task
            What the user asked for.

        Returns
        -------
        Solution
            Thresholds, and what else the method computed.
        """


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """The facts that a certificate keeps, so that it can speak for a method that is not part of the package.

    Parameters
    ----------
    idea, extra_assumption : str
        How the method works; what it assumes beyond label shift.
    any_mix, needs_weights, assumes_label_shift : bool
        As described in ``Method``.
    version : str
        As described in ``Method``; "" if it is unknown.
    tuned_on : str
        What thresholds per class were tuned on: ``"score rows"``, or ``"counts"`` where no rows were at hand and
        sets are somewhat larger. "" if they were not tuned.
    """

    idea: str = ""
    any_mix: bool = False
    extra_assumption: str = ""
    needs_weights: bool = False
    version: str = ""
    assumes_label_shift: bool = True
    tuned_on: str = ""


def facts_of(method: Method) -> MethodFacts:
    """The facts of ``method`` that its certificates keep."""
    names = [fact.name for fact in fields(MethodFacts) if fact.name != "tuned_on"]  # which its solution says
    return MethodFacts(**{name: getattr(method, name) for name in names})


def options_of(method: Method) -> dict[str, Any]:
    """The options of ``method``: the fields of a dataclass; other objects have none."""
    return asdict(method) if is_dataclass(method) else {}


def check_options(method: Any) -> None:
    """Refuse a value that the type of an option (``Literal``) does not list."""
    for option in fields(method):
        values, value = get_args(option.type), getattr(method, option.name)
        if get_origin(option.type) is Literal and value not in values:
            allowed = one_of([repr(value) for value in values])
            raise InputError(f"{option.name} must be {allowed}, got {value!r}.")


def check_method(method: Any) -> Method:
    """``method`` itself if it is one with a name and a known guarantee, else an InputError."""
    if isinstance(method, type):
        raise InputError(
            f"{param('method')} must be an object, got the class {method.__name__}: write {method.__name__}()."
        )
    if not isinstance(method, Method) or not isinstance(getattr(method, "name", None), str):
        raise InputError(
            f"{param('method')} must be a name or a method object (PSLP(), PSW(), ... or yours), got {method!r}. "
            "A method of your own inherits from pacshift.methods.Method and has a name."
        )
    if method.guarantee not in get_args(Guarantee):
        raise InputError(
            f"method {method.name}: guarantee must be one of {', '.join(get_args(Guarantee))}, "
            f"got {method.guarantee!r}."
        )
    return method


def one_threshold(tally: Tally, threshold: float) -> FloatArray:
    """The same threshold for every class.

    Parameters
    ----------
    tally : Tally
        Says how many classes there are.
    threshold : float
        Scores that reach it are in the set.

    Returns
    -------
    array of shape (K,)
    """
    return np.full(tally.n_classes, threshold)


def takes_labels(method: Method) -> bool:
    """Whether labels of the target can help: only thresholds of a PAC promise on this target may be replaced."""
    return method.guarantee == "pac-target" and not method.any_mix
