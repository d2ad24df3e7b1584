"""The stratified certificate: thresholds by stratum and class, the sets they make, its file."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, Label, LabelsLike, ScoresLike
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.file import FORMAT as CERTIFICATE_FORMAT
from pacshift.certificate.file import VERSION as CERTIFICATE_VERSION
from pacshift.certificate.file import read_checked, sealed_fields, to_document, write_document
from pacshift.files.documents import require_seal, seal
from pacshift.methods import Guarantee
from pacshift.scores.check import check_flag, check_rate, check_scores, is_finite, not_finite_error
from pacshift.scores.frames import frame_like
from pacshift.scores.softmax import to_probabilities
from pacshift.strata.expansion import expand, joint_names, own_columns
from pacshift.strata.rows import stratum_places
from pacshift.strata.words import explain
from pacshift.words.display import short_repr

FORMAT, VERSION = "pacshift-stratified-certificate", 1


@dataclass(frozen=True, eq=False, kw_only=True)
class StratifiedCertificate:
    """Thresholds for every class of every stratum, what they guarantee, and what that rests on.

    Label y is in the set of a row of stratum z if and only if its score is at least ``thresholds[z, y]``.
    ``calibrate_strata`` makes stratified certificates.

    Attributes
    ----------
    strata : tuple of str, int, float or bool
        The strata that the promise is about.
    classes : tuple of str, int, float or bool
        Class names, in the order of the score columns.
    epsilon, delta : float
        Share of true labels that the sets may miss; chance that the calibration data mislead us.
    per_stratum : bool
        Whether ``epsilon`` is promised for every stratum, or for all of the target together.
    known_mix : Interval
        Bounds of the target's label mix within each stratum that the promise rests on, of shape (G, K).
    softmax : bool
        Whether scores are logits, of which ``sets`` takes the softmax first.
    certificates : tuple of Certificate
        With ``per_stratum`` that of each stratum, at its share of delta. Else one, whose classes are those of
        all strata, one stratum after the other; its bounds of the mix were found on the target.

    Examples
    --------
    >>> import numpy as np
    >>> from pacshift import calibrate_strata
    >>> labels, sites = np.tile([0, 1], 400), np.repeat(["north", "south"], 400)
    >>> scores = np.where(np.eye(2)[labels] == 1, 0.8, 0.2)
    >>> certificate = calibrate_strata(
    ...     scores, labels, scores, strata=sites, target_strata=sites,
    ...     known_mix={"north": {1: (0.3, 0.6)}, "south": {1: (0.3, 0.6)}},
    ... )
    >>> certificate.thresholds.shape, certificate.guarantee
    ((2, 2), 'pac-target')
    >>> certificate.sets([[0.9, 0.1], [0.1, 0.9]], ["south", "north"])
    array([[ True, False],
           [False,  True]])
    """

    strata: tuple[Label, ...]
    classes: tuple[Label, ...]
    epsilon: float
    delta: float
    per_stratum: bool
    known_mix: Interval
    softmax: bool
    certificates: tuple[Certificate, ...]

    __repr__ = short_repr

    @property
    def thresholds(self) -> FloatArray:
        """The lowest score at which a label is included, by stratum and class; -inf includes it always."""
        together = np.concatenate([certificate.thresholds for certificate in self.certificates])
        return together.reshape(len(self.strata), len(self.classes))

    @property
    def guarantee(self) -> Guarantee:
        """What is promised: PAC on the target."""
        return self.certificates[0].guarantee

    def sets(self, scores: ScoresLike, strata: LabelsLike) -> Any:
        """Make the prediction sets: for every row and label, whether the label is in the row's set.

        Parameters
        ----------
        scores : array_like or frame
            One row per example, one column per class. The columns of a frame are found by name.
        strata : array_like
            The stratum of each row, matched by value. Rows of other strata are refused: nothing is promised
            about them.

        Returns
        -------
        numpy.ndarray of bool, shape (n, K), or frame
            Whether label y is in the set of row x; a frame if ``scores`` is one.

        Raises
        ------
        InputError
            If scores or strata do not fit, or are not of the kind that the certificate was made from.
        """
        given = check_scores(scores, name="scores", classes=self.classes)
        place = stratum_places(strata, given, self.strata, "strata", only_known=True)
        if not is_finite(given.values):
            raise not_finite_error(given, "scores")
        values = (to_probabilities(given, name="scores") if self.softmax else given).values
        if not self.per_stratum:
            wide = self.certificates[0].sets_of_rows(expand(values, place, len(self.strata)))
            return frame_like(scores, own_columns(wide, place, len(self.strata)), self.classes)
        found = np.empty(values.shape, np.bool_)
        for stratum in np.unique(place).tolist():
            rows = place == stratum
            found[rows] = self.certificates[stratum].sets_of_rows(values[rows])
        return frame_like(scores, found, self.classes)

    def explain(self) -> str:
        """Say in plain words what is guaranteed, under which assumption, from which data.

        Returns
        -------
        str
            One line each for the guarantee, the assumption, the bounds relied on, the test, the data and notes.
        """
        return explain(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the certificate as JSON that a person can read; ``load`` gives every number back bit for bit.

        Parameters
        ----------
        path : path
            The file. It is written whole or not at all.
        overwrite : bool
            Whether an existing file may be replaced.

        Raises
        ------
        InputError
            If the file exists and may not be replaced, or cannot be written.
        """
        write_document(_to_document(self), path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "StratifiedCertificate":
        """Read a file written by ``save``. Nothing in it is executed.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        StratifiedCertificate

        Raises
        ------
        InputError
            If the file cannot be read, is not a stratified certificate, or contradicts itself.
        """
        return cls(**read_checked(path, FORMAT, VERSION, _checked_fields))


def _to_document(certificate: StratifiedCertificate) -> dict[str, Any]:
    known = np.stack([certificate.known_mix.lower, certificate.known_mix.upper], axis=-1)
    return seal(
        {
            "format": FORMAT,
            "version": VERSION,
            "in_words": certificate.explain().splitlines(),
            "strata": list(certificate.strata),
            "classes": list(certificate.classes),
            "epsilon": certificate.epsilon,
            "delta": certificate.delta,
            "per_stratum": certificate.per_stratum,
            "softmax": certificate.softmax,
            "known_mix": known.tolist(),
            "certificates": [to_document(one) for one in certificate.certificates],
        }
    )


def _checked_fields(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of a stratified certificate, or an exception that says what is wrong with the document."""
    require_seal(document)
    strata, classes, per_stratum = tuple(document["strata"]), tuple(document["classes"]), document["per_stratum"]
    certificates = tuple(_certificate(one) for one in document["certificates"])
    wanted = [classes] * len(strata) if per_stratum else [tuple(joint_names(classes, strata))]
    low, high = np.moveaxis(
        np.array(document["known_mix"], np.float64).reshape(len(strata), len(classes), 2), 2, 0
    )
    if [one.classes for one in certificates] != wanted or not ((low >= 0) & (low <= high) & (high <= 1)).all():
        raise ValueError("strata, classes, bounds and certificates do not fit together")
    return {
        "strata": strata,
        "classes": classes,
        "epsilon": check_rate(document["epsilon"], "epsilon"),
        "delta": check_rate(document["delta"], "delta"),
        "per_stratum": check_flag(per_stratum, "per_stratum"),
        "softmax": check_flag(document["softmax"], "softmax"),
        "known_mix": Interval(low.copy(), high.copy()),
        "certificates": certificates,
    }


def _certificate(document: dict[str, Any]) -> Certificate:
    if document["format"] != CERTIFICATE_FORMAT or document["version"] != CERTIFICATE_VERSION:
        raise ValueError("a certificate in it has another format or version")
    return Certificate(**sealed_fields(document))
