#!/bin/sh
# Build the wheel and the source archive, check their metadata, install the wheel alone, and run the demo from it.
set -eu
python=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/build"
"$work/build/bin/python" -m pip install --quiet build twine
rm -rf dist
"$work/build/bin/python" -m build --outdir dist .
"$work/build/bin/twine" check --strict dist/*
"$python" scripts/check_dist.py dist/*
"$python" -m venv "$work/plain"
"$work/plain/bin/python" -m pip install --quiet dist/*.whl
(cd "$work" && "$work/plain/bin/python" -c "import pacshift; print('plain installation: pacshift', pacshift.__version__)")
"$work/plain/bin/python" -m pip install --quiet "$(ls dist/*.whl)[all]"
(cd "$work" && "$work/plain/bin/pacshift" demo -o demo > demo.txt && tail -n 3 demo.txt)
