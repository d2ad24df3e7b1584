"""The first paragraph of the report, for readers who decide but do not calibrate: no symbols, no options."""

from pacshift.certificate import Certificate
from pacshift.certificate.explain import filled
from pacshift.methods.guarantee import Guarantee, promises_target
from pacshift.plots import readable
from pacshift.rows.sets import mean_and_empty
from pacshift.words.numbers import given, mean_size

PROMISES: dict[Guarantee, str] = {
    "pac-target": "For at least {covered} of the cases of the target population{cases} the set contains the true "
    "label{spared}{limit}. The chance that unlucky calibration data make this false is at most {unsure}.",
    "marginal": "On average over many calibrations, the set contains the true label for at least {covered} of the "
    "cases of the target population{cases}{spared}. This one calibration may do worse.{limit_sentence}",
    "pac-source": "For at least {covered} of cases like those it was calibrated on{cases} the set contains the "
    "true label. The chance that unlucky calibration data make this false is at most {unsure}. Where classes have "
    "become more or less frequent since then, nothing is promised.",
    "none": "Nothing is promised: sets made in this way may miss the true label more often than wanted. Check "
    "them on labelled cases before anyone relies on them.",
}
SAME_CASES = (
    "This assumes that the cases of each class look as they did where the labels are known, and only their "
    "frequencies have changed. New equipment, other people within a class, a new kind of case or another way of "
    "labelling would make it false."
)
RANDOM_SAMPLE = (
    "This assumes that the labelled target cases were picked by chance alone and labelled correctly. Cases that "
    "were chosen, or left out because they are hard, would make it false."
)
SAME_POPULATION = (
    "This assumes that cases keep coming from the same population; any change there would make it false."
)


def in_short(certificate: Certificate) -> str:
    """What is promised, about whom, what would make it false, and until when."""
    if certificate.trivial:
        return (
            f"The set of every case holds all {len(certificate.classes)} labels. So it is always right and says "
            "nothing: the data did not allow more. Below is what they lack."
        )
    promise = filled(PROMISES[certificate.guarantee], certificate, spared=_spared(certificate))
    sentences = ["Each case gets a set of possible labels.", promise, _sizes(certificate)]
    if certificate.guarantee != "none":
        sentences += [_what_breaks_it(certificate), _until_when(certificate)]
    return readable(" ".join(filter(None, sentences)), longest=4000)


def _spared(certificate: Certificate) -> str:
    share = certificate.contamination
    return f", even if up to {given(share)} of these cases are of any other kind" if share else ""


def _sizes(certificate: Certificate) -> str:
    sizes = certificate.set_sizes
    if sizes is None or not sizes.sum():
        return ""
    return (
        f"A set holds {mean_size(mean_and_empty(sizes)[0])} of the {len(certificate.classes)} labels on average."
    )


def _what_breaks_it(certificate: Certificate) -> str:
    facts = certificate.facts
    if not promises_target(certificate):
        return SAME_POPULATION
    if not facts.assumes_label_shift:
        return RANDOM_SAMPLE
    more = " It rests on one assumption more, which is named below." if facts.extra_assumption else ""
    is_known = certificate.known_mix is not None
    known = " It also relies on the frequencies that its maker was sure of." if is_known else ""
    tested = (
        "The data were not tested for such changes."
        if certificate.assumption is None
        else "A test on the data found no such change, but no test sees every one."
    )
    return f"{SAME_CASES}{more}{known} {tested}"


def _until_when(certificate: Certificate) -> str:
    made = certificate.provenance
    last = None if made is None else made.valid_until
    changes = "the population or the classifier changes"
    if last is None:
        return f"No last day was set: it holds until {changes}."
    return f"It may be used until {last}, or until {changes}, whichever comes first."
