#!/bin/sh
# make-floor.sh PYTHON: an environment with exactly the lowest versions that pyproject.toml allows, in .venv-floor.
set -eu

# Those releases have wheels for the lowest Python only, newer ones would have to compile them.
is_lowest() { "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; }
if is_lowest "$1"; then
    python=$1
elif is_lowest python3.11; then
    python=python3.11
else
    echo "no Python 3.11: the tests at the lowest versions are skipped (or name one: make floor PYTHON=/path/to/python3.11)"
    exit 0
fi

sh scripts/make-venv.sh "$python" .venv-floor
"$python" scripts/lowest_versions.py >.venv-floor/constraints.txt
.venv-floor/bin/python -m pip install --quiet -e '.[all]' --group test --constraint .venv-floor/constraints.txt
