"""Certificates, histories and refusals as HTML pages that clinicians and auditors can read, without a network."""

from pacshift.errors import MissingExtraError

try:
    import jinja2 as _jinja2  # noqa: F401  # said here once, so that the modules below can just import it
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.report", error, "report") from None

from pacshift.comparison import ComparisonRow
from pacshift.report.build import render_refusal, render_report, write_refusal, write_report
from pacshift.report.history import render_history, write_history_page

__all__ = [
    "ComparisonRow",
    "render_history",
    "render_refusal",
    "render_report",
    "write_history_page",
    "write_refusal",
    "write_report",
]
