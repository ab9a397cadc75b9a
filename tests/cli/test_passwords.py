"""No message of the command line shows the password of an address, wherever the address was typed."""

from __future__ import annotations

import pytest

from diffhash.cli.terminal import echo

from .process import run

ADDRESS = "postgresql://ann:secret-password@127.0.0.1:1/photos"
FIT = ("fit", "--view", "x=x.npy", "--view", "y=y.npy", "--out", "m.dhm")
COMPARE = ("compare", "--view", "x=x.npy", "--view", "y=y.npy")

COMMANDS = {
    "--view without a name": ("fit", "--view", ADDRESS, "--out", "m.dhm"),
    "--view": ("fit", "--view", f"x={ADDRESS}", "--view", "y=y.npy", "--out", "m.dhm"),
    "--view twice": ("fit", "--view", f"{ADDRESS}=a", "--view", f"{ADDRESS}=b", "--out", "m.dhm"),
    "--featurizer": (*FIT, "--featurizer", ADDRESS),
    "--set": (*FIT, "--set", ADDRESS),
    "--pairs": (*FIT, "--pairs", f"x:z={ADDRESS}"),
    "--labels": (*FIT, "--labels", f"z={ADDRESS}"),
    "--ids": (*FIT, "--ids", f"{ADDRESS}#a=b"),
    "--sample": (*FIT, "--sample", ADDRESS),
    "--method": (*FIT, "--method", ADDRESS),
    "--out of fit": (*FIT[:-1], ADDRESS),
    "--codes": ("evaluate", "--codes", ADDRESS, "--labels", "l.csv"),
    "--plot": (*COMPARE, "--plot", ADDRESS),
    "--bits of compare": (*COMPARE, "--bits", ADDRESS),
    "--where": ("search", "a.dh", "frog", "--where", ADDRESS),
    "--format": ("export", "a.dh", "--out", ADDRESS, "--format", ADDRESS),
    "MODEL": ("encode", ADDRESS, "x.npy", "--out", "c.npy"),
    "FEATURES": ("encode", "m.dhm", f"x={ADDRESS}", "--out", "c.npy"),
    "an unknown option": ("fit", f"--vieww={ADDRESS}"),
    "an argument too many": ("info", "a.dh", ADDRESS),
    "an unknown command": (ADDRESS,),
}


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["", "debug"])
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS.keys())
def test_an_error_does_not_show_the_password(capsys, tmp_path, monkeypatch, arguments, debug):
    monkeypatch.chdir(tmp_path)

    status, out, err = run(capsys, *arguments, *debug)

    assert status in (1, 2)
    assert err
    assert "secret" not in out + err


def test_the_rest_of_the_address_is_shown(capsys):
    _, _, err = run(capsys, *COMMANDS["--view without a name"])
    assert "write --view NAME=FILE, got 'postgresql://ann:***@127.0.0.1:1/photos'" in err


def test_results_are_printed_as_they_are(capsys):
    """What a search finds may be an address; only messages are changed."""
    echo(ADDRESS)
    assert capsys.readouterr().out == f"{ADDRESS}\n"
