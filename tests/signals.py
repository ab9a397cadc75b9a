"""Signals of processes that tests start."""

from __future__ import annotations

import signal


def heed_interrupts():
    """To be run in a new process: jobs in a shell's background ignore Ctrl-C, and so would their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
