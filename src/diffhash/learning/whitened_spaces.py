"""Whiten views, with a shrinkage that is chosen on held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maps.learning_space import LearningSpace
from ..maps.view_moments import ViewMoments
from ..maps.whitening import spectrum
from ..pairs.couples import ResolvedCouples
from .cross_fit import N_DIRECTIONS, CrossFit, Shrinkage, cross_fitted_strengths
from .view_difference import DifferenceSettings

__all__ = ["SHRINKAGE_FACTORS", "whiten_spaces"]

#: Factors of the odds of the Ledoit-Wolf shrinkage that are tried. That shrinkage makes the covariance as
#: accurate as possible; directions that are learned from its inverse often need more.
SHRINKAGE_FACTORS = (1.0, 4.0, 16.0)


def whiten_spaces(
    spaces: Sequence[LearningSpace],
    wanted: Sequence[float | str | None],
    couples: ResolvedCouples,
    settings: DifferenceSettings,
    rng: np.random.Generator,
    *,
    n_strengths: int,
    who: Sequence[str],
    moments: Sequence[ViewMoments | None] | None = None,
) -> tuple[list[LearningSpace], CrossFit | None]:
    """Whiten the features of the views.

    Parameters
    ----------
    spaces : list of LearningSpace
        One for each modality.
    wanted : for each space, a shrinkage, "auto", or None
        "auto": the multiple of the Ledoit-Wolf shrinkage whose directions are strongest on held-out pairs;
        all views use the same factor. None: the view is not whitened.
    couples : ResolvedCouples
    settings : DifferenceSettings
    rng : Generator
    n_strengths : int
        Number of directions whose strengths on held-out pairs are wanted. 0: strengths are computed only
        to choose a shrinkage.
    who : for each space, the prefix of error messages
    moments : for each space, ViewMoments or None, optional
        Moments of the features of all rows, if the space has only a sample of them.

    Returns
    -------
    spaces : list of LearningSpace
        Whitened as wanted.
    strengths : CrossFit or None
        Strengths of the directions of these spaces on held-out pairs. None if they are not needed, or if
        there are too few objects.
    """
    automatic = "auto" in wanted
    candidates = [
        [_shrinkage(how, factor) for how in wanted] for factor in (SHRINKAGE_FACTORS if automatic else (1.0,))
    ]
    fits: list[CrossFit] = []
    if automatic or n_strengths:
        fits = cross_fitted_strengths(
            # In the space of the rows a fold has few coordinates, however many features there are.
            [space.view for space in spaces],
            couples,
            settings,
            candidates,
            rng,
            n_directions=n_strengths or N_DIRECTIONS,
            n_features=[space.features.n_features for space in spaces],
        )
    best = int(np.argmax([fit.total for fit in fits])) if fits else 0
    whitened = [
        space if how is None else _whitened(space, how, name, known)
        for space, how, name, known in zip(
            spaces, candidates[best], who, moments or [None] * len(spaces), strict=True
        )
    ]
    return whitened, fits[best] if fits else None


def _shrinkage(wanted: float | str | None, factor: float) -> Shrinkage | None:
    if wanted is None:
        return None
    return Shrinkage(factor=factor) if isinstance(wanted, str) else Shrinkage(value=wanted)


def _whitened(space: LearningSpace, how: Shrinkage, who: str, moments: ViewMoments | None) -> LearningSpace:
    covariance = spectrum(space.view, space.features.n_features, moments=moments, who=who)
    return space.whitened(covariance.inverse_root(how.of(covariance)))
