"""How far a long computation is, told to a callable of the user's."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with what is done so far and, where it is known, what there is to do in all."""


class Steps:
    """The steps of one part of the work, which takes the whole from ``first`` to ``last`` percent.

    How many steps there will be is guessed beforehand, so the part may end early, and never goes beyond its end.

    Parameters
    ----------
    progress : callable, optional
        Called with percents and 100; without it nothing is told.
    first, last : int
        Percents of the whole.

    Examples
    --------
    >>> steps = Steps(lambda done, total: print(done, "of", total), 50, 100)
    >>> steps.expect(2)
    >>> steps()
    75 of 100
    """

    def __init__(self, progress: Progress | None = None, first: int = 0, last: int = 100) -> None:
        self._progress, self._first, self._last = progress, first, last
        self._done = self._expected = 0

    def expect(self, n_steps: int) -> None:
        """Say that about so many more steps are to come.

        Parameters
        ----------
        n_steps : int
            Their number.
        """
        self._expected += n_steps

    def __call__(self) -> None:
        """One more step is done."""
        self._done += 1
        if self._progress is not None:
            part = min(self._done / max(self._expected, 1), 1.0)
            self._progress(self._first + int(part * (self._last - self._first)), 100)


def tell(progress: Progress | None, percent: int) -> None:
    """Tell how far the whole is, if somebody listens."""
    if progress is not None:
        progress(percent, 100)
