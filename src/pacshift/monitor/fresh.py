"""The fresh certificate of a period, or why there is none."""

import warnings
from dataclasses import dataclass

from pacshift.certificate import Certificate
from pacshift.certification.certify import Data, certify
from pacshift.certification.request import Request
from pacshift.errors import AssumptionError, UninformativeWarning
from pacshift.methods import Method
from pacshift.rows.columns import Columns
from pacshift.tally import Tally
from pacshift.words.findings import ways_on

NEW_SOURCE = (
    "pacshift.label_sheet(...) draws the rows, and Monitor.new_source(...) compares later periods with them"
)
"""What to do with labels after a refuted period."""


@dataclass(frozen=True, slots=True, eq=False)
class Fresh:
    """A certificate for a period, or why there is none."""

    certificate: Certificate | None
    refusal: str = ""

    def with_columns(self, columns: Columns | None) -> "Fresh":
        """The same, remembering the columns of the source's table."""
        if self.certificate is None or columns is None:
            return self
        return Fresh(self.certificate.changed(columns=columns))


def fresh_certificate(tally: Tally, method: Method, request: Request) -> Fresh:
    """The certificate of the period's rows, or the reason why label shift is refuted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # few rows: the verdict says what is not proven
            return Fresh(certify(Data(tally), method, request))
    except AssumptionError as error:
        return Fresh(None, f"{error.refusal} {ways_on(error.expected_sizes, command=NEW_SOURCE)}")
