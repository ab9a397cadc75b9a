"""Views from files: features, or raw objects that a featurizer turns into features."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..featurizers import Featurizer, load_featurizer
from ..featurizers.base import check_featurizer
from ..files import FeatureFile, Source, open_features
from ..files.raw_features import RawFeatures, has_raw_objects
from .options import FileName, OptionError
from .progress import Progress, StepCounter

__all__ = ["Featurizers", "load_featurizers", "open_view", "open_views"]

#: Featurizers by modality: objects, or names as :func:`~diffhash.featurizers.load_featurizer` reads them.
Featurizers: TypeAlias = Mapping[str, Any]


def load_featurizers(featurizers: Featurizers | None, modalities: Sequence[str]) -> dict[str, Featurizer]:
    """Featurizers of a model that is going to be learned, as objects."""
    found: dict[str, Featurizer] = {}
    for name, given in (featurizers or {}).items():
        if name not in modalities:
            raise OptionError(f"`featurizers` names {name!r}, which is not one of {', '.join(modalities)}")
        made = load_featurizer(given) if isinstance(given, str | os.PathLike) else given
        found[name] = check_featurizer(made, name, caller="featurizers")
    return found


def open_views(
    views: Mapping[str, FileName],
    featurizers: Mapping[str, Featurizer],
    progress: Progress | None = None,
) -> dict[str, FeatureFile]:
    """Open the files of views: a column of texts goes to the featurizer of its modality, all others are features."""
    return {name: open_view(source, featurizers.get(name), name, progress) for name, source in views.items()}


def open_view(
    file: FileName, featurizer: Featurizer | None, modality: str, progress: Progress | None = None
) -> FeatureFile:
    """Open the file of one view. Without a featurizer it must have features."""
    source = Source.parse(file)
    if featurizer is None or not has_raw_objects(source):
        return open_features(source)

    counters: list[StepCounter] = []

    def advance(n: int) -> None:
        # The step begins when the features are needed, not when the file is opened.
        if not counters:
            counters.append(StepCounter(progress, f"features of {modality}", raw.n_rows))
        counters[0].advance(n)

    raw = RawFeatures(source, featurizer, advance)
    return raw
