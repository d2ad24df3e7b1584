#!/bin/sh
# make-venv.sh PYTHON FOLDER: a virtual environment with a pip that knows dependency groups (25.1 and newer).
set -eu
python=$1
folder=$2

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "pacshift needs Python 3.11 or newer; '$python' is $("$python" --version 2>&1). Try: make PYTHON=python3.12 ..." >&2
    exit 1
}
# Debian ships Python without ensurepip; without it a virtual environment has no pip.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv
    else
        echo "This Python cannot make virtual environments. Install it first: sudo apt-get install python3-venv" >&2
        exit 1
    fi
fi
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --upgrade 'pip>=25.1'
