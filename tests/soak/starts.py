"""Ctrl-C while the command is being loaded: no traceback."""

import signal
import subprocess
import sys
import time

import numpy as np

from soak.damage import environment
from soak.outcome import Outcome
from soak.writing import START


def interrupt_starts(n_cases: int) -> Outcome:
    """Ctrl-C at random moments of the first second, counted from the first line of our own code."""
    rng = np.random.default_rng(17)
    begin = (
        "import signal, sys, pacshift_command; signal.signal(signal.SIGINT, pacshift_command._stop_loading); "
        "sys.stdout.write('x'); sys.stdout.flush(); "
    )
    findings: list[str] = []
    stopped = 0
    for _ in range(n_cases):
        words = [sys.executable, "-c", begin + START, "methods"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, env=environment(), text=True, **pipes) as process:  # type: ignore[call-overload]
            process.stdout.read(1)
            time.sleep(float(rng.uniform(0, 1)))
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=120)
        stopped += process.returncode != 0
        if "Traceback" in said or process.returncode not in (0, 130, -signal.SIGINT):
            findings.append(f"exit {process.returncode}: {said[-300:]}")
    result = f"{stopped} stopped, {n_cases - stopped} had finished before"
    return Outcome("Ctrl-C while the command starts", n_cases, result, findings)
