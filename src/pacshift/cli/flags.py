"""Errors of the library name parameters; on the command line these are flags."""

import re

FLAGS = {
    "budget=": "--budget",
    "by_position=True": "--by-position",
    "class_balance=": "--class-balance",
    "class_epsilon=": "--class-epsilon",
    "classes=": "--classes",
    "contamination=": "--contamination",
    "data_dir=": "--data",
    "delta=": "--delta",
    "device=": "--device",
    "drop_invalid=True": "--drop-invalid",
    "epsilon=": "--epsilon",
    "group=": "--group",
    "groups=": "--group",
    "keep_invalid=True": "--keep-invalid",
    "key=": "--key",
    "known_mix=": "--known",
    "label=": "--label",
    "labelled=": "--labelled",
    "labels_per=": "--labels-per",
    "looks=": "--looks",
    "method=": "--method",
    "model_id=": "--model-id",
    "never_empty=True": "--never-empty",
    "note=": "--note",
    "overwrite=True": "--force",
    "period=": "--period",
    "raw=": "--raw",
    "recipe=": "--recipe",
    "replace=True": "--replace",
    "replace=": "--replace",
    "resume=True": "--resume",
    "score=": "--score",
    "scores=": "--scores",
    "soft=False": "--no-soft",
    "softmax=True": "--softmax",
    "state=": "--state",
    "target_groups=": "--group",
    "target_labels=": "--target-label",
    "timestamp=": "--timestamp",
    "valid_until=": "--valid-until",
    "weights=": "--weights",
}
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # names of columns, classes and labels
_PARAMETER = rf"(?<![^\s(])({'|'.join(map(re.escape, FLAGS))})([A-Z]+|'[^']*')?(?=[.,;:)]*(?:\s|$))"
_SUBJECT = re.compile(r"^(\w+)(?=: | (?:must|is|cannot) )")  # "epsilon must lie between 0 and 1"


def in_flags(message: str) -> str:
    """A message of the library with flags in place of parameters; what is quoted stays as it is.

    >>> in_flags("No column 'label=NAME'. Name the label column: label=NAME, or use by_position=True.")
    "No column 'label=NAME'. Name the label column: --label NAME, or use --by-position."
    >>> in_flags("valid_until must be a day such as 2027-01-31, got 'soon'.")
    "--valid-until must be a day such as 2027-01-31, got 'soon'."
    """

    def replaced(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else " ".join(filter(None, (FLAGS[found[1]], found[2])))

    message = _SUBJECT.sub(lambda found: FLAGS.get(f"{found[1]}=", found[1]), message)
    return re.sub(f"{_QUOTED}|{_PARAMETER}", replaced, message)
