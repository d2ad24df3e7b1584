"""Shift to thresholds: one idea a file, every method of the paper and our own."""

from pacshift.errors import InputError
from pacshift.methods.aps import APS
from pacshift.methods.base import Guarantee, Method, Solution, Task
from pacshift.methods.class_wise import LWCP, PSLW
from pacshift.methods.oracle import Oracle
from pacshift.methods.ps import PS
from pacshift.methods.ps_c import PSC
from pacshift.methods.ps_lp import PSLP
from pacshift.methods.ps_r import PSR
from pacshift.methods.ps_w import PSW
from pacshift.methods.wcp import WCP

__all__ = [
    "APS",
    "LWCP",
    "METHODS",
    "PS",
    "PSC",
    "PSLP",
    "PSLW",
    "PSR",
    "PSW",
    "WCP",
    "Guarantee",
    "Method",
    "Oracle",
    "Solution",
    "Task",
    "resolve_method",
]

METHODS: dict[str, type[Method]] = {
    method.name: method for method in (PSLP, PSW, PSC, PSLW, Oracle, PS, APS, PSR, WCP, LWCP)
}
"""Every method by its name in the paper, those with a guarantee on the target first."""


def resolve_method(method: str | Method) -> Method:
    """A method object, made with its default options where a name is given."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        return METHODS[method]()
    if not isinstance(method, tuple(METHODS.values())):
        raise InputError(
            f"method must be a name or one of the method objects (PSLP(), PSW(), ...), got {method!r}."
        )
    return method
