"""Make a label shift on purpose: label mixes, rows drawn to them, and populations whose true error is known."""

from pacshift.simulate.mix import check_mix, resample, tweak_one
from pacshift.simulate.population import Population

__all__ = ["Population", "check_mix", "resample", "tweak_one"]
