"""Requests as flat dictionaries, for tests that combine them: each part is put where a user says it.

Groups and labels of the target become ``Rows``, weights an ``Oracle``, and notes an annotation.
"""

from collections.abc import Callable
from typing import Any

from pacshift import METHODS, PSLP, Certificate, Oracle, Rows, Tally
from pacshift.certificate.provenance import check_stamp


def flat(
    verb: Callable[..., Any],
    source: Any,
    labels: Any = None,
    target: Any = None,
    *,
    groups: Any = None,
    target_groups: Any = None,
    target_labels: Any = None,
    weights: Any = None,
    class_balance: Any = None,
    note: Any = None,
    model_id: Any = None,
    valid_until: Any = None,
    **asked: Any,
) -> Any:
    """What ``verb`` answers."""
    if isinstance(source, Tally):
        if target_labels is not None:
            asked["labelled"] = target_labels
    elif not isinstance(source, Rows):
        source, labels = Rows(source, labels, groups=groups), None
    if target is not None and not isinstance(target, Rows):
        target = Rows(target, target_labels, groups=target_groups)
    if weights is not None:
        asked["method"] = Oracle(weights=weights)
    elif class_balance is not None:
        asked["method"] = PSLP(class_balance=class_balance)
    stamp = check_stamp(note=note, model_id=model_id, valid_until=valid_until)
    answer = verb(source, labels, target, **asked)
    return answer.annotate(**stamp) if isinstance(answer, Certificate) else answer


def with_weights(name: str, weights: Any) -> Any:
    """A method by its name; ORACLE with its weights."""
    return Oracle(weights=weights) if name == "ORACLE" else METHODS[name]()
