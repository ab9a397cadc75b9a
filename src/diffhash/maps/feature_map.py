"""The interface of feature maps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..types import FloatArray
from .prepared_encoder import PreparedEncoder

__all__ = ["FeatureMap", "map_from_state"]


class FeatureMap(ABC):
    """A fitted map from the features of a modality to the features that are projected.

    A map is made by a class method that learns from the rows of one view. After that it has only
    arrays and plain values (:meth:`state`), so it can be saved in a model file.
    """

    kind: ClassVar[str]
    n_features_in: int
    n_features_out: int

    @abstractmethod
    def transform(self, X: Any) -> Any:
        """Features of a block of rows, (n, n_features_out).

        If the result is sparse, it is not centred: see :attr:`offset`.
        """

    @property
    def offset(self) -> FloatArray | None:
        """The vector that remains to be subtracted if :meth:`transform` returns sparse rows, or None.

        Subtracting the mean from a sparse array would make it dense. Sums and projections subtract it
        afterwards.
        """
        return None

    @property
    def own_function(self) -> Callable[..., Any] | None:
        """A function of the user that :meth:`transform` calls, or None. It may not be made for threads."""
        return None

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain parameters and arrays, from which :func:`map_from_state` restores the map."""

    @classmethod
    @abstractmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Inverse of :meth:`state`."""

    def prepared(
        self, projection: FloatArray
    ) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], FloatArray, FloatArray]:
        """A function, weights and constants with ``weights @ function(x) + constants = projection @ map(x)``.

        For dense rows. The function may leave out steps that the weights and constants can do.
        """
        return self.transform, projection, np.zeros(len(projection))

    def project(self, X: Any, projection: FloatArray, threshold: FloatArray) -> FloatArray:
        """``projection @ map(x) + threshold`` for every row."""
        return PreparedEncoder(self, projection, threshold, X.dtype).project(X)


def map_from_state(
    kind: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> FeatureMap:
    """Restore a map from the state in a model file."""
    kinds = {subclass.kind: subclass for subclass in FeatureMap.__subclasses__()}
    if kind not in kinds:
        raise ModelFileError(f"load: unknown feature map {kind!r}. Known: {', '.join(sorted(kinds))}.")
    return kinds[kind].from_state(parameters, arrays)
