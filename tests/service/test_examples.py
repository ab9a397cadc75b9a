"""The unit for systemd and the Containerfile are valid, and their commands exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from diffhash.cli.app import app

FOLDER = Path(__file__).parents[2] / "examples" / "service"
INSTRUCTIONS = {"ARG", "FROM", "RUN", "COPY", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT"}


def options_of_serve():
    import typer.main

    command = typer.main.get_command(app).commands["serve"]
    return {option for parameter in command.params for option in parameter.opts}


def test_the_unit_is_accepted_by_systemd(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    text = (FOLDER / "diffhash.service").read_text()
    # The program of the unit is not installed here.
    unit = tmp_path / "diffhash.service"
    unit.write_text(text.replace("/opt/diffhash/bin/diffhash", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    problems = [line for line in done.stderr.splitlines() if "diffhash.service" in line]
    assert problems == []
    assert done.returncode == 0, done.stderr


def test_the_unit_calls_the_command_with_options_that_exist():
    text = (FOLDER / "diffhash.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    words = shlex.split(line)
    assert words[:2] == ["/opt/diffhash/bin/diffhash", "serve"]
    assert {word for word in words if word.startswith("--")} <= options_of_serve()
    for wanted in ("NoNewPrivileges=yes", "ProtectSystem=strict", "DynamicUser=yes"):
        assert wanted in text


def test_the_containerfile_is_made_of_known_instructions():
    text = (FOLDER / "Containerfile").read_text()
    lines = [
        line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")
    ]
    names = [line.split()[0] for line in lines]
    assert names[:2] == ["ARG", "FROM"]
    assert set(names) <= INSTRUCTIONS
    assert names.count("FROM") == 2
    (entry,) = [json.loads(line.partition(" ")[2]) for line in lines if line.startswith("ENTRYPOINT")]
    assert entry[:2] == ["/opt/diffhash/bin/diffhash", "serve"]
    assert {word for word in entry if word.startswith("--")} <= options_of_serve()
    (health,) = [line for line in lines if line.startswith("HEALTHCHECK")]
    compile(json.loads(health.partition("CMD")[2])[2], "healthcheck", "exec")
    assert any(line.startswith("USER 10001") for line in lines)
