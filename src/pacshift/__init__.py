"""Prediction sets you can still trust after the label mix has changed."""

import logging
import typing

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate, calibrate_tally
from pacshift.certification.check import Check, check
from pacshift.certification.label_mix import prevalence, prevalence_tally
from pacshift.comparison.compare import compare
from pacshift.comparison.table import Comparison
from pacshift.errors import AssumptionError, InputError, PacshiftError, UninformativeWarning
from pacshift.evaluation import Evaluation, evaluate
from pacshift.methods import APS, LWCP, METHODS, PS, PSC, PSLP, PSLW, PSR, PSW, WCP, Oracle
from pacshift.mix.prevalence import Prevalence
from pacshift.monitor import Monitor, PeriodReport
from pacshift.planning import Plan, plan
from pacshift.simulate import Population, resample, tweak_one
from pacshift.tally import Tally

if typing.TYPE_CHECKING:
    from pacshift.estimator import PACClassifier

logging.getLogger("pacshift").addHandler(logging.NullHandler())  # silent, unless the user configures logging

__version__ = "0.2.0"

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
    "AssumptionError",
    "Certificate",
    "Check",
    "Comparison",
    "Evaluation",
    "InputError",
    "Interval",
    "Monitor",
    "Oracle",
    "PACClassifier",
    "PacshiftError",
    "PeriodReport",
    "Plan",
    "Population",
    "Prevalence",
    "Tally",
    "UninformativeWarning",
    "calibrate",
    "calibrate_tally",
    "check",
    "compare",
    "evaluate",
    "plan",
    "prevalence",
    "prevalence_tally",
    "resample",
    "tweak_one",
]


def __getattr__(name: str) -> object:
    """Import ``PACClassifier`` when it is first used, so that the core does not need scikit-learn."""
    if name == "PACClassifier":
        from pacshift.estimator import PACClassifier

        return PACClassifier
    raise AttributeError(f"module 'pacshift' has no attribute {name!r}")
