"""Prediction sets you can still trust after the label mix has changed."""

from pacshift.bounds import Interval
from pacshift.calibrate import calibrate, calibrate_tally
from pacshift.certificate import Certificate
from pacshift.errors import AssumptionError, InputError, PacshiftError, UninformativeWarning
from pacshift.evaluate import Evaluation, evaluate
from pacshift.methods import APS, LWCP, METHODS, PS, PSC, PSLW, PSR, PSW, WCP, Oracle
from pacshift.shifting import resample, tweak_one
from pacshift.tally import Tally

__version__ = "0.1.0"

__all__ = [
    "APS",
    "LWCP",
    "METHODS",
    "PS",
    "PSC",
    "PSLW",
    "PSR",
    "PSW",
    "WCP",
    "AssumptionError",
    "Certificate",
    "Evaluation",
    "InputError",
    "Interval",
    "Oracle",
    "PacshiftError",
    "Tally",
    "UninformativeWarning",
    "calibrate",
    "calibrate_tally",
    "evaluate",
    "resample",
    "tweak_one",
]
