"""What a certificate says about rows that come in groups, in words (docs/methods/groups.md)."""

from typing import TYPE_CHECKING

from pacshift.methods.guarantee import promises_target

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

LABELLED = {
    "row": "Rows were chosen to be labelled at random, whatever their group.",
    "group": "One random row was labelled in each of some random groups.",
}
"""How rows were chosen to be labelled, as ``labels_per`` said."""


def which_cases(certificate: "Certificate") -> str:
    """Which cases the promise is about where rows come in groups, in brackets with a blank in front."""
    about = certificate.target_grouped if promises_target(certificate) else certificate.source_grouped
    return "" if about is None else f" (a random case of a random {_group_name(certificate)})"


def _group_name(certificate: "Certificate") -> str:
    """What a group is called: the name of its column, if there is one."""
    column = None if certificate.columns is None else certificate.columns.group
    return "group" if column is None else repr(column)


def counted_groups(certificate: "Certificate") -> str:
    """How rows that come in groups were counted; "" where every row was."""
    sides = {"source": certificate.source_grouped, "target": certificate.target_grouped}
    counted = {"source": certificate.n_source, "target": certificate.n_target}
    parts = [f"{counted[side]:,} of {one.rows:,} {side} rows" for side, one in sides.items() if one is not None]
    if not parts:
        return ""
    return f"one random row of each {_group_name(certificate)} was counted, {' and '.join(parts)}."


def groups_in_words(certificate: "Certificate") -> str:
    """What was counted, and what the promise is not about (docs/methods/groups.md)."""
    counted = counted_groups(certificate)
    not_promised = (
        "Nothing is promised about all rows taken together, among which groups with many rows weigh more."
    )
    return counted and f"Groups: {counted} {not_promised}"


def about_groups(certificate: "Certificate") -> list[str]:
    """What must hold of groups, and what nobody could check because tallies do not name their groups."""
    sides = {"source": certificate.source_grouped, "target": certificate.target_grouped}
    known = {side: one for side, one in sides.items() if one is not None}
    if not known:
        return []
    both = ", and no group is in both" if len(known) == 2 else ""
    how = None if certificate.target_grouped is None else certificate.target_grouped.labels_per
    return [
        f"The independent draws are groups, not rows ({' and '.join(known)}){both}.",
        *(
            f"No group is in two of the {one.parts} {side} tallies that were added; this was not checked."
            for side, one in known.items()
            if one.parts > 1
        ),
        *([LABELLED[how]] if how is not None and certificate.n_target_labels else []),
    ]
