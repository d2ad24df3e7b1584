"""The public names, each with its home: type checkers and ``pacshift.__getattr__`` read this list."""

from pacshift.bounds import Interval as Interval
from pacshift.certificate import Certificate as Certificate
from pacshift.certification.accept import accept as accept
from pacshift.certification.calibrate import calibrate as calibrate
from pacshift.certification.check import Check as Check
from pacshift.certification.check import check as check
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
from pacshift.labels.sheet import LabelSheet as LabelSheet
from pacshift.labels.sheet import label_sheet as label_sheet
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
from pacshift.rows.rows import Rows as Rows
from pacshift.simulate import Population as Population
from pacshift.simulate import resample as resample
from pacshift.simulate import tweak_one as tweak_one
from pacshift.tally import Tally as Tally

__all__: list[str]
__version__: str
