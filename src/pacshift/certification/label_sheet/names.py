"""Names of classes as they come back from a spreadsheet: without blanks, 1 for 01 or 1.0, TRUE for True."""

import re
from collections.abc import Mapping, Sequence

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.scores.names import places_by_text, text_of

UNKNOWN = "?"
"""What stands in a sheet where nobody can tell the label."""

_WHOLE = re.compile(r"([+-]?[0-9]+)(\.0*)?")


def class_places(classes: Sequence[Label]) -> Mapping[str, int]:
    """Position of each class by its name and by what a spreadsheet may make of it; ``place_of`` reads it.

    A label would silently become another one where two names are alike in a spreadsheet, so these are refused.
    """
    names, places = [str(text_of(name)) for name in classes], dict[str, int]()
    for place, name in enumerate(names):
        form = _in_spreadsheet(name)
        if form in ("", UNKNOWN):
            meaning = "that nobody can tell" if form else "that the row has no label yet"
            raise InputError(
                f"a class is called {name!r}, which in a label sheet means {meaning}. Rename the class."
            )
        if form in places:
            raise InputError(
                f"the classes {names[places[form]]!r} and {name!r} cannot be told apart in a label sheet: "
                "spreadsheets drop blanks and zeros, and write TRUE for True. Rename one of them."
            )
        places[form] = place
    return places_by_text(classes) | places


def place_of(text: str, places: Mapping[str, int]) -> int | None:
    """The class of a label, or None.

    >>> [place_of(text, class_places(["1", "true story", "True"])) for text in ("1.0", " 1 ", "TRUE", "2")]
    [0, 0, 2, None]
    """
    return next((places[form] for form in (text, _in_spreadsheet(text)) if form in places), None)


def _in_spreadsheet(text: str) -> str:
    bare = text.strip()
    whole = _WHOLE.fullmatch(bare)
    if whole:
        return str(int(whole.group(1)))
    return bare.capitalize() if bare.upper() in ("TRUE", "FALSE") else bare
