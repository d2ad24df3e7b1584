"""Everything pacshift raises or warns. A message says what is wrong, the rule, the value and the remedy."""


class PacshiftError(Exception):
    """Base class of all errors that pacshift raises on purpose.

    Examples
    --------
    >>> issubclass(InputError, PacshiftError) and issubclass(AssumptionError, PacshiftError)
    True
    """


class InputError(PacshiftError, ValueError):
    """The data or a parameter break a rule. The message names the rule, the value and the remedy.

    It is also a ``ValueError``.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> calibrate([[0.2, 0.8]], [1], None, epsilon=2, delta=0.1, method="PS")
    Traceback (most recent call last):
    pacshift.errors.InputError: epsilon must lie strictly between 0 and 1, got 2.
    """


class AssumptionError(PacshiftError):
    """The data refute label shift, so nothing can be certified."""


class UninformativeWarning(UserWarning):
    """Every set contains all labels: nothing smaller can be certified. The message says which data are lacking."""
