"""Size of the fits of RefinedHash: trial fits are smaller than the final one."""

from __future__ import annotations

from dataclasses import dataclass

from .settings import RefinedParameters

__all__ = ["FitSize", "final_fit_size", "trial_fit_size"]

#: Number of coordinates of each view if max_rank is "auto". Sparse word counts need many. With many objects
#: there are fewer, because the coordinates of all objects are in memory.
_KERNEL_RANK, _KERNEL_RANK_MANY_OBJECTS, _LINEAR_RANK = 512, 256, 1024
_MANY_OBJECTS = 50_000
#: Slope of tanh in each round.
_SLOPES = (1.0, 2.0)


@dataclass(frozen=True)
class FitSize:
    """Size of a fit; trial fits are smaller than the final one."""

    n_bits: int
    n_landmarks: int
    kernel_rank: int
    linear_rank: int
    slopes: tuple[float, ...]


def final_fit_size(parameters: RefinedParameters, n_objects: int) -> FitSize:
    """Size of the final fit to ``n_objects`` objects."""
    kernel = _KERNEL_RANK if n_objects <= _MANY_OBJECTS else _KERNEL_RANK_MANY_OBJECTS
    linear = _LINEAR_RANK
    if not isinstance(parameters.max_rank, str):
        kernel = linear = parameters.max_rank
    return FitSize(parameters.n_bits, parameters.n_landmarks, kernel, linear, _SLOPES)


def trial_fit_size(parameters: RefinedParameters, *, partnered: bool) -> FitSize:
    """Size of a trial fit."""
    full = final_fit_size(parameters, 0)
    return FitSize(
        # If each object has one partner, the best settings depend on the number of bits.
        n_bits=min(full.n_bits, 128 if partnered else 32),
        n_landmarks=min(full.n_landmarks, 250),
        kernel_rank=min(full.kernel_rank, 128),
        linear_rank=full.linear_rank,
        slopes=_SLOPES[:1],
    )
