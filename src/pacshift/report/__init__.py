"""A certificate as one HTML page that clinicians and auditors can read, without a network."""

from pacshift.report.build import render_report, write_report
from pacshift.report.comparison import ComparisonRow, compare_methods

__all__ = ["ComparisonRow", "compare_methods", "render_report", "write_report"]
