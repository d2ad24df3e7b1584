"""One module per library, imported only in that library's environment: calls as its documentation has them."""

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Given:
    """What everybody gets. Peers calibrate on the source alone: none of them uses the target."""

    source: Any
    labels: Any
    target: Any
    n_classes: int
    epsilon: float
    delta: float


class Contestant(Protocol):
    """The steps that are timed, and the sets as a boolean matrix so that everybody is judged alike."""

    def load(self, array: NDArray[Any]) -> Any:
        """The library's own kind of array; not timed."""
        ...

    def calibrate(self, given: Given) -> Any:
        """What the library calls calibrating, fitting or conformalizing."""
        ...

    def sets(self, fitted: Any, scores: Any) -> Any:
        """Prediction sets in whatever form the library gives them."""
        ...

    def matrix(self, fitted: Any, scores: Any) -> NDArray[Any]:
        """The same sets as a boolean matrix; not timed."""
        ...


class NumpyContestant:
    """Takes NumPy arrays and gives a boolean matrix."""

    def load(self, array: NDArray[Any]) -> Any:
        return array

    def sets(self, fitted: Any, scores: Any) -> Any:
        raise NotImplementedError

    def matrix(self, fitted: Any, scores: Any) -> NDArray[Any]:
        answer: NDArray[Any] = self.sets(fitted, scores)
        return answer
