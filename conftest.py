"""Doctests come from every module of the package; those that need torch or Spark are left out without them."""

from importlib.util import find_spec

NEEDS = {"torch": "src/pacshift/recipes/fitting/*", "pyspark": "src/pacshift/tables/spark/*"}
collect_ignore_glob = [modules for package, modules in NEEDS.items() if not find_spec(package)]
