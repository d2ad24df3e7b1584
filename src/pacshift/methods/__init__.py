"""Tally to thresholds: the methods, those of the paper and our own, and the importance weights that some use."""

import difflib
import re

from pacshift.errors import InputError
from pacshift.methods.base import Method, MethodFacts, RowAccess, Solution, Task, check_method, one_threshold
from pacshift.methods.guarantee import Guarantee
from pacshift.methods.point_weights import PSR, WCP, Oracle
from pacshift.methods.ps import APS, LWCP, PS, PSLW, pac_threshold, too_few
from pacshift.methods.ps_lp import PSLP
from pacshift.methods.ps_t import PST
from pacshift.methods.ps_w import PSC, PSW
from pacshift.tally.grid import largest_threshold

__all__ = [
    "APS",
    "LWCP",
    "METHODS",
    "PS",
    "PSC",
    "PSLP",
    "PSLW",
    "PSR",
    "PST",
    "PSW",
    "WCP",
    "Guarantee",
    "Method",
    "MethodFacts",
    "Oracle",
    "RowAccess",
    "Solution",
    "Task",
    "largest_threshold",
    "one_threshold",
    "pac_threshold",
    "resolve_method",
    "too_few",
    "usable_methods",
]

METHODS: dict[str, type[Method]] = {
    method.name: method for method in (PSLP, PST, PSW, PSC, PSLW, Oracle, PS, APS, PSR, WCP, LWCP)
}
"""Every method of the package by name, those with a guarantee on the target first.

The names are those of the paper. The values are classes: ``METHODS["PS-W"]()`` is PS-W with its default options.
"""


def usable_methods() -> list[Method]:
    """The methods that run on a source and an unlabelled target alone: ORACLE needs weights, PS-T labels.

    Returns
    -------
    list of Method
        With their default options.

    Examples
    --------
    >>> [method.name for method in usable_methods()][:3]
    ['PS-LP', 'PS-W', 'PS-C']
    """
    return [method() for method in METHODS.values() if not (method.needs_labels or method.needs_weights)]


def resolve_method(method: str | Method) -> Method:
    """Return the method object: made with its default options from a name, or the given object, checked.

    Parameters
    ----------
    method : str or Method
        A name in ``METHODS``, in any spelling (``"ps-lp"``, ``"PSLP"``), or any object with the facts of
        ``Method`` and ``solve``.

    Returns
    -------
    Method

    Raises
    ------
    InputError
        If the name is unknown, the object lacks a fact, or it uses the name of another method.

    Examples
    --------
    >>> resolve_method("PS-W").guarantee
    'pac-target'
    """
    if isinstance(method, str):
        return METHODS[method_name(method)]()
    chosen = check_method(method)
    if chosen.rule.verb != "calibrate":
        raise InputError(
            f"method {chosen.name} makes no sets of its own: call pacshift.{chosen.rule.verb} instead."
        )
    known = METHODS.get(chosen.name, type(chosen))
    promised = (chosen.guarantee, chosen.any_mix) == (known.guarantee, known.any_mix)
    if not (promised and isinstance(chosen, known)):
        raise InputError(f"{method!r} uses the name of another method, {chosen.name}. Give it a name of its own.")
    return chosen


def method_name(text: str) -> str:
    """The name in ``METHODS`` that ``text`` spells: case, hyphens, underscores and spaces do not matter.

    >>> method_name("ps_lp"), method_name("pslw")
    ('PS-LP', 'PS-LW')
    """
    known = {_letters(name): name for name in METHODS}
    spelled = _letters(text)
    if spelled not in known:
        close = difflib.get_close_matches(spelled, known, 1)
        hint = f" Did you mean {known[close[0]]}?" if close else ""
        raise InputError(f"unknown method {text!r}.{hint} The methods are {', '.join(METHODS)}.")
    return known[spelled]


def _letters(text: str) -> str:
    return re.sub(r"[-_\s]", "", text).upper()
