"""Make a label shift on purpose: label mixes, rows drawn to them, and populations whose true error is known."""

from pacshift.simulate.population import Population, check_mix, resample, tweak_one

__all__ = ["Population", "check_mix", "resample", "tweak_one"]
