"""Bits from paired directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import diffhash as dh
from diffhash.hashers.refined import pair_bits
from diffhash.hashers.refined.pair_bits import BitSetting, fit_bits
from diffhash.learning.paired_directions import PairedDirections
from diffhash.pairs.couples import ResolvedCouples

N, D, BITS = 120, 6, 10
STRENGTHS = np.linspace(0.9, 0.4, D)
ROTATED = BitSetting(5, 1.0)
HELD_OUT = BitSetting(D, 0.5, held_out=(tuple(STRENGTHS**2), tuple(STRENGTHS)))
REFINED = (
    {"penalty": 0.3, "contrast": 1.0},
    {"penalty": 0.01, "negative_target": -0.3},
)


def learn(setting, frames=None):
    rng = np.random.default_rng(3)
    latent = rng.normal(size=(N, D))
    values = [(latent + 0.5 * rng.normal(size=(N, D))).astype(np.float32) for _ in range(2)]
    directions = PairedDirections((np.eye(D), np.eye(D)), STRENGTHS)
    couples = ResolvedCouples.of_pairs(dh.Pairs.aligned(N).resolve(N, N))
    return fit_bits(
        values,
        directions,
        couples,
        setting,
        n_bits=BITS,
        positive_weight=1.0,
        max_iter=5,
        random_state=0,
        frames=frames,
    )


@pytest.mark.parametrize("start", [ROTATED, HELD_OUT])
def test_bits_from_a_known_frame_are_those_from_a_new_one(start, monkeypatch):
    """Also where random numbers are drawn after the rotation: pairs of the softmax loss, rows of the rotation."""
    monkeypatch.setattr(pair_bits, "_CONTRASTED_PAIRS", 50)
    monkeypatch.setattr(pair_bits, "_ROTATION_ROWS", 90)
    frames = {}
    for refinement in ({}, *REFINED, {}):
        setting = replace(start, **refinement)
        alone, shared = learn(setting), learn(setting, frames)

        for side in range(2):
            np.testing.assert_array_equal(alone.weights[side], shared.weights[side])
            np.testing.assert_array_equal(alone.offsets[side], shared.offsets[side])
        assert alone.losses == shared.losses


def test_refinements_of_one_start_rotate_once(monkeypatch):
    calls = []
    rotate = pair_bits.rotated_frame
    monkeypatch.setattr(pair_bits, "rotated_frame", lambda *args: calls.append(1) or rotate(*args))
    frames = {}
    for start in (ROTATED, HELD_OUT, replace(ROTATED, power=0.5)):
        for refinement in ({}, *REFINED):
            learn(replace(start, **refinement), frames)

    assert len(calls) == len(frames) == 3
