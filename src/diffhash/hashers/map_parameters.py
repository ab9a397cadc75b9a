"""The parameters of hashers about feature maps, checked and resolved for each modality."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ..errors import ParameterError
from ..maps import FeatureMap, KernelMap, LinearMap, MappedView
from ..maps.kernel import Kernel
from ..maps.landmarks import choose_landmarks
from ..maps.mapped_view import feature_mean
from ..maps.own_distance import Distance
from ..maps.representation import METRICS, unit_origin
from ..maps.unit import UnitMap, unit_rows
from ..maps.view_moments import ViewMoments
from ..validation import by_modality, check_choice, check_count, check_flag, check_number, check_seed

__all__ = ["KernelSettings", "LinearSettings", "MapSettings", "kernel_settings", "linear_settings"]

T = TypeVar("T")
#: Shrinkage "auto" of the covariance for the metric "mahalanobis".
MAHALANOBIS_SHRINKAGE = 0.01


@dataclass(frozen=True)
class MapSettings(ABC):
    """Settings of the feature map of one modality.

    Attributes
    ----------
    center : bool
        Whether the features are centred.
    whiten : bool
    shrinkage : float or "auto"
        Shrinkage of the covariance matrix, used by whitening.
    who : str
        Function and modality, for error messages.
    """

    center: bool
    whiten: bool
    shrinkage: float | str
    who: str

    #: Whether the map is affine, so that sums of features follow from sums of the rows themselves.
    affine: ClassVar[bool]

    @property
    def standardizes(self) -> bool:
        """Whether an affine map divides features by their standard deviations."""
        return False

    @property
    def needs_covariance(self) -> bool:
        """Whether the map depends on the products of all features."""
        return False

    def n_features_out(self, n_features: int) -> int:
        """Largest number of features after the map, from that before it."""
        return n_features

    def fit_map(self, X: Any) -> FeatureMap:
        """Learn the feature map from the rows of a view."""
        return self.map_of(ViewMoments.of(X, full=self.needs_covariance), X)

    @abstractmethod
    def map_of(self, moments: ViewMoments, sample: Any) -> FeatureMap:
        """Learn the feature map from the moments of all rows of a view, and a sample of them."""


@dataclass(frozen=True)
class LinearSettings(MapSettings):
    """Settings of a :class:`~diffhash.maps.LinearMap`."""

    affine = True
    standardize: bool

    @property
    def standardizes(self) -> bool:
        """Whether features are divided by their standard deviations."""
        return self.standardize

    def map_of(self, moments: ViewMoments, sample: Any) -> LinearMap:  # noqa: ARG002 - kernel maps need it
        """Learn mean and scale."""
        return LinearMap.from_moments(moments, center=self.center, standardize=self.standardize, who=self.who)


@dataclass(frozen=True)
class KernelSettings(MapSettings):
    """Settings of a :class:`~diffhash.maps.KernelMap`; ``kernel`` None for the Gaussian.

    If ``precomputed``, the view holds the kernel values of its objects and the landmarks.
    """

    n_landmarks: int
    landmarks: Any
    metric: str | Distance
    bandwidth: float | str
    width: float | None
    kernel: Kernel | None
    precomputed: bool
    random_state: int | None
    caller: str
    modality: str

    affine = False

    def n_features_out(self, n_features: int) -> int:
        """The number of landmarks."""
        return n_features if self.precomputed else self.n_landmarks

    @property
    def needs_covariance(self) -> bool:
        """Whether the distance needs the covariance of the features."""
        return isinstance(self.metric, str) and self.metric == "mahalanobis" and self.kernel is None

    def map_of(self, moments: ViewMoments, sample: Any) -> KernelMap | UnitMap | LinearMap:
        """Choose the landmarks from the sample, and learn the distance and the bandwidth.

        With ``center`` the mean of the kernel features is that of the sample.
        """
        if self.precomputed:
            return LinearMap.from_moments(moments, center=self.center, standardize=False, who=self.who)
        landmarks = choose_landmarks(
            sample,
            self.n_landmarks,
            self.landmarks,
            self.random_state,
            caller=self.caller,
            modality=self.modality,
        )
        if not isinstance(self.metric, str) or self.metric not in ("cosine", "root-cosine"):
            inner, origin, unit = self._kernel_map(moments, landmarks, self.metric), None, False
        else:
            origin = unit_origin(
                self.metric,
                mean=lambda: moments.mean,
                non_negative=lambda: moments.never_negative,
                who=self.who,
            )
            inner, unit = self._kernel_map(None, unit_rows(landmarks, origin), "euclidean"), True
        fitted = UnitMap(inner, origin) if unit else inner
        if self.center:
            inner.mean = feature_mean(MappedView(sample, fitted, keep_bytes=0))
        return fitted

    def _kernel_map(self, moments: ViewMoments | None, landmarks: Any, metric: str | Distance) -> KernelMap:
        return KernelMap.from_moments(
            moments,
            landmarks,
            metric=metric,
            bandwidth=self._bandwidth,
            width=self.width,
            shrinkage=MAHALANOBIS_SHRINKAGE if isinstance(self.shrinkage, str) else self.shrinkage,
            kernel=self.kernel,
            who=self.who,
        )

    @property
    def _bandwidth(self) -> float | str:
        """The meaning of "auto".

        Whitening gives the small variations of the kernel features the same weight as the large
        ones. With a narrow kernel the small ones are noise of single objects.
        """
        if isinstance(self.bandwidth, str) and self.bandwidth == "auto":
            return "median" if self.whiten else "balanced"
        return self.bandwidth


def linear_settings(
    sparse: Mapping[str, bool],
    *,
    center: bool | Mapping[str, bool],
    standardize: bool | str | Mapping[str, bool | str],
    whiten: bool | Mapping[str, bool],
    shrinkage: float | str | Mapping[str, float | str],
    caller: str,
) -> dict[str, LinearSettings]:
    """Check the parameters of linear maps and resolve them for each modality.

    ``sparse`` says for each modality whether its rows are sparse.
    """
    modalities = tuple(sparse)
    found = {}
    for m in modalities:
        scaled = _of(standardize, m, modalities, "standardize", caller)
        whitened = check_flag(_of(whiten, m, modalities, "whiten", caller), "whiten", caller=caller)
        if isinstance(scaled, str) and scaled == "auto":
            scaled = whitened or not sparse[m]
        found[m] = LinearSettings(
            center=check_flag(_of(center, m, modalities, "center", caller), "center", caller=caller),
            whiten=whitened,
            shrinkage=_shrinkage(shrinkage, m, modalities, caller),
            who=f"{caller}: modality {m!r}",
            standardize=check_flag(scaled, "standardize", caller=caller),
        )
    return found


def kernel_settings(
    modalities: tuple[str, ...],
    *,
    n_landmarks: int | Mapping[str, int],
    landmarks: Any,
    metric: Any,
    bandwidth: float | str | Mapping[str, float | str],
    width: float | Mapping[str, float | None] | None,
    kernel: Any,
    center: bool | Mapping[str, bool],
    whiten: bool | Mapping[str, bool],
    shrinkage: float | str | Mapping[str, float | str],
    random_state: int | None,
    caller: str,
) -> dict[str, KernelSettings]:
    """Check the parameters of kernel maps and resolve them for each modality."""
    check_seed(random_state, caller=caller)
    found = {}
    for m in modalities:
        chosen = _of(landmarks, m, modalities, "landmarks", caller)
        if isinstance(chosen, str):
            check_choice(chosen, "landmarks", ("random", "kmeans"), caller=caller)
        distance = _checked_metric(_of(metric, m, modalities, "metric", caller), caller)
        own_kernel, precomputed = _checked_kernel(_of(kernel, m, modalities, "kernel", caller), caller)
        if precomputed and not isinstance(chosen, str):
            raise ParameterError(
                f'{caller}: modality {m!r} has kernel="precomputed", so its view holds kernel values and landmarks '
                "cannot be given. Leave landmarks out, or give the features and another kernel."
            )
        if callable(distance) and (precomputed or own_kernel is not None):
            raise ParameterError(
                f"{caller}: modality {m!r} has a distance function as metric and kernel={kernel!r:.60}, which does not "
                'use it. Leave one of them out: with a metric, kernel is "gaussian".'
            )
        found[m] = KernelSettings(
            center=check_flag(_of(center, m, modalities, "center", caller), "center", caller=caller),
            whiten=check_flag(_of(whiten, m, modalities, "whiten", caller), "whiten", caller=caller),
            shrinkage=_shrinkage(shrinkage, m, modalities, caller),
            who=f"{caller}: modality {m!r}",
            n_landmarks=check_count(
                _of(n_landmarks, m, modalities, "n_landmarks", caller), "n_landmarks", caller=caller
            ),
            landmarks=chosen,
            metric=distance,
            bandwidth=_checked_bandwidth(_of(bandwidth, m, modalities, "bandwidth", caller), caller),
            width=_checked_width(
                _of(width, m, modalities, "width", caller),
                _of(bandwidth, m, modalities, "bandwidth", caller),
                caller,
            ),
            kernel=own_kernel,
            precomputed=precomputed,
            random_state=random_state,
            caller=caller,
            modality=m,
        )
    return found


def _of(value: T | Mapping[str, T], modality: str, modalities: tuple[str, ...], name: str, caller: str) -> T:
    """The value of a parameter for one modality."""
    return by_modality(value, modalities, name, caller=caller)[modality]


def _shrinkage(value: Any, modality: str, modalities: tuple[str, ...], caller: str) -> float | str:
    chosen = _of(value, modality, modalities, "shrinkage", caller)
    if isinstance(chosen, str):
        return check_choice(chosen, "shrinkage", ("auto",), caller=caller)
    return check_number(chosen, "shrinkage", caller=caller, high=1.0)


def _checked_bandwidth(value: Any, caller: str) -> float | str:
    if isinstance(value, str):
        return check_choice(value, "bandwidth", ("auto", "balanced", "median"), caller=caller)
    return check_number(value, "bandwidth", caller=caller, open_low=True, high=1e300)


def _checked_width(value: Any, bandwidth: Any, caller: str) -> float | None:
    if value is None:
        return None
    if not isinstance(bandwidth, str) or bandwidth != "auto":
        raise ParameterError(
            f"{caller}: width={value!r} and bandwidth={bandwidth!r} both set the bandwidth. Give only one of them."
        )
    return check_number(value, "width", caller=caller, open_low=True, high=1e12)


def _checked_metric(value: Any, caller: str) -> str | Distance:
    if callable(value):
        checked: Distance = value
        return checked
    return check_choice(value, "metric", METRICS, caller=caller)


def _checked_kernel(value: Any, caller: str) -> tuple[Kernel | None, bool]:
    """The user's kernel function, and whether the view holds kernel values."""
    if callable(value):
        return value, False
    if not (isinstance(value, str) and value in ("gaussian", "precomputed")):
        raise ParameterError(
            f'{caller}: kernel must be "gaussian", "precomputed" or a function kernel(X, landmarks), got {value!r}.'
        )
    return None, value == "precomputed"
