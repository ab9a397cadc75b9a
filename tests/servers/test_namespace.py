"""``python -m tests.servers`` leaves nothing behind, whatever happens to its command."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: Starts a process that goes on after its parent, tells its process id, and does as asked.
LEAVING = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "100"], start_new_session=True)
print(child.pid, flush=True)
if sys.argv[1] == "dies":
    os.kill(os.getpid(), 9)
time.sleep(100)
"""


@pytest.mark.parametrize("end", ["dies", "is interrupted", "is terminated"])
def test_what_a_command_leaves_running_is_ended(end):
    command = [sys.executable, "-m", "tests.servers", sys.executable, "-c", LEAVING, end]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
    left = int(runner.stdout.readline())
    if end != "dies":
        runner.send_signal(signal.SIGINT if end == "is interrupted" else signal.SIGTERM)

    assert runner.wait(60) != 0

    runner.stdout.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{left}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{left}").exists()
