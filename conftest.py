"""Doctests come from every module of the package; those that need torch are left out where it is missing."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/pacshift/recipes/fitting/*"]
