"""Certificate to HTML."""

import os
from collections.abc import Sequence

from pacshift.certificate import Certificate
from pacshift.files import atomic_write
from pacshift.report.comparison import ComparisonRow


def write_report(
    certificate: Certificate,
    path: str | os.PathLike[str],
    *,
    comparison: Sequence[ComparisonRow] | None = None,
    overwrite: bool = True,
) -> None:
    """Write the page whole or not at all."""
    with atomic_write(path, overwrite=overwrite) as draft:
        draft.write_text(render_report(certificate, comparison=comparison), encoding="utf-8")


def render_report(certificate: Certificate, *, comparison: Sequence[ComparisonRow] | None = None) -> str:
    """The page as text."""
    raise NotImplementedError
