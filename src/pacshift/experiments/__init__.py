"""The paper's experiments: panels, data sets, trials, tables and figures."""

from pacshift.experiments.datasets import Dataset, load_dataset, load_scores
from pacshift.experiments.panels import PANELS, Panel, select_panels
from pacshift.experiments.reproduce import run_reproduce

__all__ = ["PANELS", "Dataset", "Panel", "load_dataset", "load_scores", "run_reproduce", "select_panels"]
