"""MM-kDIF: multimodal kernel diff-hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..learning.batches import SourceForm
from ..maps.kernel import Kernel
from ..maps.own_distance import Distance
from .map_parameters import KernelSettings, kernel_settings
from .spectral import SpectralHasher

__all__ = ["KernelDiffHash"]


class KernelDiffHash(SpectralHasher):
    r"""Multimodal kernel diff-hash (MM-kDIF): CM-DIF on similarities to landmarks.

    The features of an object are :math:`k(x_1, x), \dots, k(x_l, x)` with landmarks :math:`x_i` of its
    own modality. The steps of :class:`DiffHash` are applied to these features. The kernel uses the
    similarity within each modality, codes may be longer than the number of features, and the hash
    functions are not affine.

    Parameters
    ----------
    n_bits : int
        Length of the codes; at most the smallest number of landmarks of a view.
    gamma : float
        Weight of the positives; the negatives have weight 1. See :class:`DiffHash`.
    n_landmarks : int, or dict by modality
        Number of landmarks. If there are fewer different objects, all of them are landmarks; see
        ``n_landmarks_``. Ignored for a modality whose landmarks are given.
    landmarks : {"random", "kmeans"} or array, or dict by modality
        Random objects, centres of k-means, or an array of shape (l, n_features).
    metric : str or function, or dict by modality
        Distance in the Gaussian kernel: "diagonal", "euclidean", "mahalanobis", "hellinger", "cosine" or
        "root-cosine". "diagonal": Euclidean after dividing each feature by its standard
        deviation. "mahalanobis": with the inverse of the full covariance matrix. "hellinger": Euclidean
        between the square roots of the features, which must never be negative. "cosine": Euclidean after
        centring the rows and scaling them to unit length. "root-cosine": Euclidean between the square
        roots, scaled to unit length. A function ``metric(X, landmarks)`` of your own must return distances of
        shape (n, l), none of them negative; the bandwidth is chosen from its distances. It is not saved with the
        model: pass it again to :func:`diffhash.load`, as ``kernel``.
    bandwidth : float, "auto", "balanced" or "median", or dict by modality
        h in :math:`\exp(-d^2 / h)`. "median": the median squared distance between landmarks.
        "balanced": this median divided by the logarithm of the number of landmarks, which is much better
        with many features; see :func:`~diffhash.maps.kernel.landmark_bandwidth`. "auto": "balanced", but
        "median" with ``whiten``, because whitening a narrow kernel amplifies noise.
    width : float or None, or dict by modality
        If given, the bandwidth is this factor times the median squared distance between landmarks; then
        ``bandwidth`` must be "auto".
    kernel : "gaussian", "precomputed" or function, or dict by modality
        A function ``kernel(X, landmarks)`` of your own must return floats of shape (n, l). It is not
        saved with the model: pass it again to :func:`diffhash.load`. "precomputed": the view of this modality is
        not features but an array of shape (n, l), whose columns are the kernel values of each object and l
        landmarks. The same landmarks, in the same order, are the columns when you encode. What you choose as
        landmarks is up to you: training objects, all of them or some. ``n_landmarks``, ``metric``, ``bandwidth`` and
        ``width`` are ignored for this modality.
    center : bool, or dict by modality
        Subtract the mean of the kernel features. The default is False because centring lowers the
        accuracy on the paper's data.
    shrinkage : float in [0, 1] or "auto", or dict by modality
        Shrinkage of the covariance of the features for "mahalanobis" ("auto": 0.01), and of the covariance
        of the kernel features for ``whiten`` ("auto": see :class:`DiffHash`).
    whiten : bool, or dict by modality
        Decorrelate the kernel features by the inverse root of their covariance.
    thresholds, miss_weight, min_share, n_bins, rotate, statistic
        See :class:`DiffHash`.
    couple_weights : dict of float by (modality, modality), or None
        How much each couple of modalities counts; couples that are not named count 1. With one couple it
        has no effect.
    random_state : int or None
        Seed for drawing landmarks, and for ``rotate`` and ``shrinkage="auto"``.

    Attributes
    ----------
    modalities_, n_features_in_, maps_, projections_, thresholds_, singular_values_
        See :class:`DiffHash`.
    n_landmarks_ : dict by modality
        Number of landmarks that are used.

    References
    ----------
    M. M. Bronstein, "Multimodal diff-hash", 2011, section 5.

    Examples
    --------
    >>> import diffhash as dh, numpy as np
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=500, n_test=100, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    >>> hasher = dh.KernelDiffHash(n_bits=4, n_landmarks={"x": 200, "y": 100})
    >>> hasher.fit(data.train.views, pairs).encode(data.test.views["x"], modality="x").shape
    (100, 1)

    A distance of your own, and kernel values that were computed before; the first 100 objects are landmarks:

    >>> def manhattan(X, landmarks):
    ...     return np.abs(X[:, None] - landmarks).sum(axis=2)
    >>> views = {m: X[:300] for m, X in data.train.views.items()}
    >>> pairs = dh.Pairs.aligned(300)
    >>> hasher = dh.KernelDiffHash(n_bits=4, n_landmarks=50, metric=manhattan).fit(views, pairs)
    >>> landmarks = views["x"][:100]
    >>> values = np.exp(-manhattan(views["x"], landmarks) / 500)
    >>> hasher = dh.KernelDiffHash(n_bits=4, kernel={"x": "precomputed", "y": "gaussian"})
    >>> hasher.fit({"x": values, "y": views["y"]}, pairs).n_landmarks_["x"]
    100
    >>> new = data.test.views["x"]
    >>> hasher.encode(np.exp(-manhattan(new, landmarks) / 500), modality="x").shape
    (100, 1)
    """

    _more_bits_hint = "set rotate=True (no limit), use more landmarks, or use BoostedHash (no limit)."

    def __init__(
        self,
        n_bits: int = 64,
        gamma: float = 10.0,
        n_landmarks: int | Mapping[str, int] = 1000,
        *,
        landmarks: Any = "random",
        metric: str | Distance | Mapping[str, str | Distance] = "diagonal",
        bandwidth: float | str | Mapping[str, float | str] = "auto",
        width: float | Mapping[str, float | None] | None = None,
        kernel: str | Kernel | Mapping[str, str | Kernel] = "gaussian",
        center: bool | Mapping[str, bool] = False,
        shrinkage: float | str | Mapping[str, float | str] = "auto",
        thresholds: str = "joint",
        miss_weight: float = 1.0,
        min_share: float = 0.05,
        n_bins: int = 64,
        whiten: bool | Mapping[str, bool] = False,
        rotate: bool = False,
        statistic: str = "product",
        couple_weights: Mapping[tuple[str, str], float] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_bits = n_bits
        self.gamma = gamma
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.metric = metric
        self.bandwidth = bandwidth
        self.width = width
        self.kernel = kernel
        self.center = center
        self.shrinkage = shrinkage
        self.thresholds = thresholds
        self.miss_weight = miss_weight
        self.min_share = min_share
        self.n_bins = n_bins
        self.whiten = whiten
        self.rotate = rotate
        self.statistic = statistic
        self.couple_weights = couple_weights
        self.random_state = random_state

    @property
    def n_landmarks_(self) -> dict[str, int]:
        """Number of landmarks of each modality; fewer than asked for if there are fewer different objects."""
        return {m: fitted.n_features_out for m, fitted in self._fitted("n_landmarks_").maps.items()}

    def _map_settings(self, form: SourceForm) -> dict[str, KernelSettings]:
        return kernel_settings(
            form.modalities,
            n_landmarks=self.n_landmarks,
            landmarks=self.landmarks,
            metric=self.metric,
            bandwidth=self.bandwidth,
            width=self.width,
            kernel=self.kernel,
            center=self.center,
            whiten=self.whiten,
            shrinkage=self.shrinkage,
            random_state=self.random_state,
            caller=self._caller,
        )
