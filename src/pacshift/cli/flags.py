"""Errors of the library name parameters; on the command line these are flags."""

import re

FLAGS = {
    "by_position=True": "--by-position",
    "class_epsilon=": "--class-epsilon",
    "classes=": "--classes",
    "data_dir=": "--data",
    "device=": "--device",
    "drop_invalid=True": "--drop-invalid",
    "known_mix=": "--known",
    "label=": "--label",
    "never_empty=True": "--never-empty",
    "overwrite=True": "--force",
    "raw=": "--raw",
    "recipe=": "--recipe",
    "resume=True": "--resume",
    "score=": "--score",
    "scores=": "--scores",
    "soft=False": "--no-soft",
    "state=": "--state",
    "weights=": "--weights",
}
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # names of columns, classes and labels
_PARAMETER = rf"(?<![^\s(])({'|'.join(map(re.escape, FLAGS))})([A-Z]+|'[^']*')?(?=[.,;:)]*(?:\s|$))"


def in_flags(message: str) -> str:
    """A message of the library with flags in place of parameters; what is quoted stays as it is.

    >>> in_flags("No column 'label=NAME'. Name the label column: label=NAME, or use by_position=True.")
    "No column 'label=NAME'. Name the label column: --label NAME, or use --by-position."
    """

    def replaced(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else " ".join(filter(None, (FLAGS[found[1]], found[2])))

    return re.sub(f"{_QUOTED}|{_PARAMETER}", replaced, message)
