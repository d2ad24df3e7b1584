"""Everything pacshift raises or warns: one family, each message with what, the rule, the value got, the remedy."""


class PacshiftError(Exception):
    """Base of every error a user can meet."""


class InputError(PacshiftError, ValueError):
    """The data or a parameter break a rule that is written in the message, with the remedy."""


class AssumptionError(PacshiftError):
    """The data refute label shift itself, so nothing may be certified."""


class UninformativeWarning(UserWarning):
    """Only "all labels" is valid here; the message names the class or cell that lacks data."""
