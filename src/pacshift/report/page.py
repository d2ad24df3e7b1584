"""What every page shares: the templates, and a file that is written whole or not at all."""

import os
from typing import Any

import jinja2

from pacshift.files.origin import pacshift_version
from pacshift.files.writing import atomic_write
from pacshift.plots import readable
from pacshift.words.numbers import between, capital, down, given, mean_size, numbers_between, percent

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("pacshift.report", "."),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(
    capital=capital, down=down, given=given, mean_size=mean_size, percent=percent, readable=readable
)
ENVIRONMENT.globals.update(between=between, numbers_between=numbers_between)


def render(template: str, **content: Any) -> str:
    """The HTML of a template."""
    return ENVIRONMENT.get_template(template).render(version=pacshift_version(), **content)


def write_page(html: str, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write the file whole or not at all."""
    with atomic_write(path, overwrite=overwrite) as draft:
        draft.write_text(html, encoding="utf-8")
