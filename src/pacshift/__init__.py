"""Prediction sets you can still trust after the label mix has changed."""

import importlib
import logging
import typing

if typing.TYPE_CHECKING:  # "as" says that they are public
    from pacshift.bounds import Interval as Interval
    from pacshift.certificate import Certificate as Certificate
    from pacshift.certification.accept import accept as accept
    from pacshift.certification.calibrate import calibrate as calibrate
    from pacshift.certification.check import Check as Check
    from pacshift.certification.check import check as check
    from pacshift.certification.label_sheet import LabelSheet as LabelSheet
    from pacshift.certification.label_sheet import label_sheet as label_sheet
    from pacshift.certification.next_labels import NextLabels as NextLabels
    from pacshift.certification.next_labels import next_labels as next_labels
    from pacshift.certification.prevalence import prevalence as prevalence
    from pacshift.certification.verify import Verification as Verification
    from pacshift.certification.verify import verify as verify
    from pacshift.comparison import Comparison as Comparison
    from pacshift.comparison import compare as compare
    from pacshift.errors import AssumptionError as AssumptionError
    from pacshift.errors import InputError as InputError
    from pacshift.errors import PacshiftError as PacshiftError
    from pacshift.errors import UnfinishedSheetError as UnfinishedSheetError
    from pacshift.errors import UninformativeWarning as UninformativeWarning
    from pacshift.estimator import PACClassifier as PACClassifier
    from pacshift.estimator import set_scorer as set_scorer
    from pacshift.evaluation import Evaluation as Evaluation
    from pacshift.evaluation import evaluate as evaluate
    from pacshift.methods import APS as APS
    from pacshift.methods import LWCP as LWCP
    from pacshift.methods import METHODS as METHODS
    from pacshift.methods import PS as PS
    from pacshift.methods import PSC as PSC
    from pacshift.methods import PSLP as PSLP
    from pacshift.methods import PSLW as PSLW
    from pacshift.methods import PSR as PSR
    from pacshift.methods import PST as PST
    from pacshift.methods import PSW as PSW
    from pacshift.methods import WCP as WCP
    from pacshift.methods import Oracle as Oracle
    from pacshift.mix.prevalence import Prevalence as Prevalence
    from pacshift.monitor import Monitor as Monitor
    from pacshift.monitor import PeriodReport as PeriodReport
    from pacshift.planning import Plan as Plan
    from pacshift.planning import plan as plan
    from pacshift.rows.arrow.sets import SetsWritten as SetsWritten
    from pacshift.rows.arrow.sets import write_sets as write_sets
    from pacshift.rows.arrow.table import read as read
    from pacshift.rows.arrow.table import tally_table as tally_table
    from pacshift.simulate import Population as Population
    from pacshift.simulate import resample as resample
    from pacshift.simulate import tweak_one as tweak_one
    from pacshift.strata import calibrate_strata as calibrate_strata
    from pacshift.strata import sets_in_strata as sets_in_strata
    from pacshift.tally import Tally as Tally

logging.getLogger("pacshift").addHandler(logging.NullHandler())  # silent, unless the user configures logging

__version__ = "0.3.0.dev0"

_HOMES = {
    "bounds": ["Interval"],
    "certificate": ["Certificate"],
    "certification.accept": ["accept"],
    "certification.calibrate": ["calibrate"],
    "certification.check": ["Check", "check"],
    "certification.prevalence": ["prevalence"],
    "certification.label_sheet": ["LabelSheet", "label_sheet"],
    "certification.next_labels": ["NextLabels", "next_labels"],
    "certification.verify": ["Verification", "verify"],
    "comparison": ["Comparison", "compare"],
    "errors": ["AssumptionError", "InputError", "PacshiftError", "UnfinishedSheetError", "UninformativeWarning"],
    "estimator": ["PACClassifier", "set_scorer"],
    "evaluation": ["Evaluation", "evaluate"],
    "methods": ["APS", "LWCP", "METHODS", "PS", "PSC", "PSLP", "PSLW", "PSR", "PST", "PSW", "WCP", "Oracle"],
    "mix.prevalence": ["Prevalence"],
    "monitor": ["Monitor", "PeriodReport"],
    "planning": ["Plan", "plan"],
    "rows.arrow.sets": ["SetsWritten", "write_sets"],
    "rows.arrow.table": ["read", "tally_table"],
    "simulate": ["Population", "resample", "tweak_one"],
    "strata": ["calibrate_strata", "sets_in_strata"],
    "tally": ["Tally"],
}

_MODULES = ("blocks", "onnx", "plots", "report", "torch")  # all but the first need an extra

__all__ = sorted(name for names in _HOMES.values() for name in names)


if not typing.TYPE_CHECKING:  # type checkers read the imports above, and so notice a name that does not exist

    def __getattr__(name: str) -> object:
        """Import a public name, or a module that holds some, when it is first used.

        So ``import pacshift`` loads no NumPy, ``pacshift --help`` neither, and the core needs no scikit-learn.
        """
        if name in _MODULES or any(name == home.partition(".")[0] for home in _HOMES):
            return importlib.import_module(f"pacshift.{name}")
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = getattr(importlib.import_module(f"pacshift.{home}"), name)
                return globals()[name]
        raise AttributeError(f"module 'pacshift' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})
