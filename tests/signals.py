"""Signals for processes that tests start."""

from __future__ import annotations

import signal


def heed_interrupts():
    """Call this in a new process: background jobs of a shell ignore Ctrl-C, and their children would too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
