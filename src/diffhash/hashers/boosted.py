"""CM-SSH: boosted similarity-sensitive hashing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import scipy.sparse

from ..errors import ParameterError, RankWarning
from ..learning.boosting import boost
from ..learning.view_difference import DifferenceSettings
from ..learning.whitened_spaces import whiten_spaces
from ..maps import FeatureMap, MappedView
from ..maps.learning_space import LearningSpace, learning_space, plain_view
from ..types import FloatArray
from ..validation import check_count, check_number, check_seed
from .base import BaseHasher
from .map_parameters import linear_settings
from .training_data import Learned, TrainingData

__all__ = ["BoostedHash"]


#: A view with more features than this, and than rows, is learned in the space of its rows. Boosting makes a product of
#: (n_features, n_features') for every bit. With fewer features that is fast, and signs follow the features.
_MANY_FEATURES = 2000


class BoostedHash(BaseHasher):
    r"""Cross-modality similarity-sensitive hashing (CM-SSH): linear bits that are learned by boosting.

    Each bit is a weak classifier of pairs into similar and dissimilar. Its projections are the
    leading singular pair(s) of the weighted sum :math:`\sum w s x y^T`. Its thresholds maximise the
    weighted correlation :math:`r = \sum w s \xi \eta`. Pairs that it classifies wrongly get a larger
    weight for the next bit. The paper compares its methods with this one. It is slower, but the number
    of bits has no limit.

    Parameters
    ----------
    n_bits : int
        Length of the codes.
    n_directions : int
        Number of singular pairs that are tried for each bit; the one with the largest correlation is kept.
    sample_size : (int, int)
        Largest number of positives and of negatives of each couple that are drawn if the pairs are implied by
        labels or as "every other pair". Listed pairs are all used.
    min_share : float
        At least this share of the objects of each view is on either side of a threshold. Uneven bits are
        more useful here than in :class:`DiffHash`, because later bits correct their errors.
    n_bins : int
        Number of intervals of the threshold grid, 4 to 256.
    center, standardize, whiten, shrinkage
        See :class:`DiffHash`.
    couple_weights : dict of float by (modality, modality), or None
        How much each couple of modalities counts; couples that are not named count 1. With one couple it
        has no effect.
    random_state : int or None
        Seed for drawing pairs.

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_
        See :class:`~diffhash.hashers.BaseHasher`.
    correlations_ : array of shape (n_bits,)
        Weighted correlation r of each bit, with the weights at the time it was learned.

    Notes
    -----
    Codes are nested: the first 32 bits of a 64-bit model are the 32-bit model. With one view this is
    SSH: both sides use the eigenvector of the largest eigenvalue and the same threshold. With several couples
    of modalities, a bit maximises the sum of the correlations over the pairs of all of them.

    References
    ----------
    M. M. Bronstein et al., "Data fusion through cross-modality metric learning using
    similarity-sensitive hashing", CVPR 2010. M. M. Bronstein, "Multimodal diff-hash", 2011, section 3.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=500, n_test=100, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    >>> hasher = dh.BoostedHash(n_bits=10, n_directions=5, sample_size=(1000, 5000))
    >>> hasher.fit(data.train.views, pairs).encode(data.test.views["x"], modality="x").shape
    (100, 2)
    """

    extra_attributes = ("correlations",)

    def __init__(
        self,
        n_bits: int = 64,
        n_directions: int = 1,
        *,
        sample_size: tuple[int, int] = (10_000, 100_000),
        min_share: float = 0.01,
        n_bins: int = 64,
        center: bool | Mapping[str, bool] = True,
        standardize: bool | str | Mapping[str, bool | str] = "auto",
        whiten: bool | Mapping[str, bool] = False,
        shrinkage: float | str | Mapping[str, float | str] = "auto",
        couple_weights: Mapping[tuple[str, str], float] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_directions = n_directions
        self.sample_size = sample_size
        self.min_share = min_share
        self.n_bins = n_bins
        self.center = center
        self.standardize = standardize
        self.whiten = whiten
        self.shrinkage = shrinkage
        self.couple_weights = couple_weights
        self.random_state = random_state

    @property
    def correlations_(self) -> FloatArray:
        """Weighted correlation of each bit with the pairs."""
        return self._fitted("correlations_").extra["correlations"]

    def _check_parameters(self) -> None:
        caller = self._caller
        check_seed(self.random_state, caller=caller)
        check_count(self.n_bits, "n_bits", caller=caller)
        check_count(self.n_directions, "n_directions", caller=caller)
        check_number(self.min_share, "min_share", caller=caller, high=0.5)
        if check_count(self.n_bins, "n_bins", caller=caller, minimum=4) > 256:
            raise ParameterError(f"{caller}: n_bins must be at most 256, got {self.n_bins!r}.")
        if not isinstance(self.sample_size, tuple | list) or len(self.sample_size) != 2:
            raise ParameterError(f"{caller}: sample_size must be two numbers, got {self.sample_size!r}.")
        for n in self.sample_size:
            check_count(n, "sample_size", caller=caller)

    def _learn(self, data: TrainingData) -> Learned:
        settings = linear_settings(
            {m: scipy.sparse.issparse(X) for m, X in data.views.items()},
            center=self.center,
            standardize=self.standardize,
            whiten=self.whiten,
            shrinkage=self.shrinkage,
            caller=self._caller,
        )
        maps: dict[str, FeatureMap] = {m: settings[m].fit_map(X) for m, X in data.views.items()}
        rng = np.random.default_rng(self.random_state)
        couples = data.couples.listed(*self.sample_size, rng, caller=self._caller)
        spaces, _ = whiten_spaces(
            [
                learning_space(
                    MappedView(X, maps[m]),
                    by_rows=settings[m].whiten or maps[m].n_features_out > _MANY_FEATURES,
                )
                for m, X in data.views.items()
            ],
            [settings[m].shrinkage if settings[m].whiten else None for m in data.views],
            couples,
            DifferenceSettings(gamma=1.0, center=(True,) * len(data.modalities)),
            rng,
            n_strengths=0,
            who=[settings[m].who for m in data.views],
        )
        any_whitened = any(each.whiten for each in settings.values())
        projections, thresholds, correlations = boost(
            [space.view if space.view.whitening is None else _whitened_rows(space) for space in spaces],
            couples,
            n_bits=self.n_bits,
            n_directions=self.n_directions,
            min_share=self.min_share,
            n_bins=self.n_bins,
            # With whitening or several couples, signs are those of the coordinates.
            to_features=None if len(couples) > 1 or any_whitened else spaces[0].folded,
        )
        useless = int((correlations <= 1e-9).sum())
        if useless:
            warnings.warn(
                f"{self._caller}: {useless} of the {self.n_bits} bits separate similar from dissimilar pairs no "
                "better than chance. Ask for fewer bits, or give more pairs.",
                RankWarning,
                stacklevel=3,
            )
        folded = [space.folded(P) for space, P in zip(spaces, projections, strict=True)]
        return Learned(
            maps,
            dict(zip(data.modalities, folded, strict=True)),
            dict(zip(data.modalities, thresholds, strict=True)),
            {"correlations": correlations},
        )


def _whitened_rows(space: LearningSpace) -> MappedView:
    """A view whose features are already whitened: boosting reads them once for every bit."""
    assert space.view.whitening is not None, "the view is not whitened"
    return plain_view(space.view.project(space.view.whitening))
