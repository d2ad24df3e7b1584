"""Prediction sets you can still trust after the label mix has changed."""

import importlib
import logging
import typing

if typing.TYPE_CHECKING:
    from pacshift.bounds import Interval
    from pacshift.certificate import Certificate
    from pacshift.certification.calibrate import calibrate, calibrate_tally
    from pacshift.certification.check import Check, check
    from pacshift.certification.label_mix import prevalence, prevalence_tally
    from pacshift.certification.label_sheet import LabelSheet, label_sheet
    from pacshift.certification.verify import Verification, verify, verify_tally
    from pacshift.comparison.compare import compare
    from pacshift.comparison.table import Comparison
    from pacshift.errors import (
        AssumptionError,
        InputError,
        PacshiftError,
        UnfinishedSheetError,
        UninformativeWarning,
    )
    from pacshift.estimator import PACClassifier, set_scorer
    from pacshift.evaluation import Evaluation, evaluate
    from pacshift.methods import APS, LWCP, METHODS, PS, PSC, PSLP, PSLW, PSR, PST, PSW, WCP, Oracle
    from pacshift.mix.prevalence import Prevalence
    from pacshift.monitor import Monitor, PeriodReport
    from pacshift.planning import Plan, plan
    from pacshift.simulate import Population, resample, tweak_one
    from pacshift.strata import calibrate_strata, sets_in_strata
    from pacshift.tally import Tally

logging.getLogger("pacshift").addHandler(logging.NullHandler())  # silent, unless the user configures logging

__version__ = "0.2.0"

__all__ = ["APS", "LWCP", "METHODS", "PS", "PSC", "PSLP", "PSLW", "PSR", "PST", "PSW", "WCP", "Oracle"]
__all__ += ["AssumptionError", "InputError", "PacshiftError", "UnfinishedSheetError", "UninformativeWarning"]
__all__ += ["Certificate", "Check", "Comparison", "Evaluation", "Interval", "LabelSheet"]
__all__ += ["PeriodReport", "Plan", "Prevalence"]
__all__ += ["Verification"]
__all__ += [
    "Monitor",
    "PACClassifier",
    "Population",
    "Tally",
    "calibrate",
    "calibrate_strata",
    "calibrate_tally",
    "check",
    "compare",
    "evaluate",
    "label_sheet",
]
__all__ += [
    "plan",
    "prevalence",
    "prevalence_tally",
    "resample",
    "set_scorer",
    "sets_in_strata",
    "tweak_one",
    "verify",
    "verify_tally",
]

_HOMES = {
    "bounds": ["Interval"],
    "certificate": ["Certificate"],
    "certification.calibrate": ["calibrate", "calibrate_tally"],
    "certification.check": ["Check", "check"],
    "certification.label_mix": ["prevalence", "prevalence_tally"],
    "certification.label_sheet": ["LabelSheet", "label_sheet"],
    "certification.verify": ["Verification", "verify", "verify_tally"],
    "comparison.compare": ["compare"],
    "comparison.table": ["Comparison"],
    "errors": ["AssumptionError", "InputError", "PacshiftError", "UnfinishedSheetError", "UninformativeWarning"],
    "estimator": ["PACClassifier", "set_scorer"],
    "evaluation": ["Evaluation", "evaluate"],
    "methods": ["APS", "LWCP", "METHODS", "PS", "PSC", "PSLP", "PSLW", "PSR", "PST", "PSW", "WCP", "Oracle"],
    "mix.prevalence": ["Prevalence"],
    "monitor": ["Monitor", "PeriodReport"],
    "planning": ["Plan", "plan"],
    "simulate": ["Population", "resample", "tweak_one"],
    "strata": ["calibrate_strata", "sets_in_strata"],
    "tally": ["Tally"],
}


if not typing.TYPE_CHECKING:  # type checkers read the imports above, and so notice a name that does not exist

    def __getattr__(name: str) -> object:
        """Import a public name, or a module that holds some, when it is first used.

        So ``import pacshift`` loads no NumPy, ``pacshift --help`` neither, and the core needs no scikit-learn.
        """
        if any(name == home.partition(".")[0] for home in _HOMES):
            return importlib.import_module(f"pacshift.{name}")
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = getattr(importlib.import_module(f"pacshift.{home}"), name)
                return globals()[name]
        raise AttributeError(f"module 'pacshift' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
