"""The settings that a fit chose, as parameters of another fit.

A report describes the representation and the ridge of each view in words, views in the order of the modalities:
``"kernel cosine, width 1, ridge 0.1 | linear cosine, ridge 0.01; rotated, ..."``. The words are in every model file,
so a model that was loaded can be fitted again without a new search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["chosen_parameters"]

_VIEW = re.compile(
    r"(?P<features>linear|kernel) (?P<metric>[a-z-]+)(?:, width (?P<width>[^ ,]+))?, ridge (?P<ridge>[^ ,]+)"
)


def chosen_parameters(chosen: str, modalities: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parameters of RefinedHash, by modality, that allow only the chosen representation and ridge of each view.

    Parameters
    ----------
    chosen : str
        See :attr:`~diffhash.model.FitReport.chosen`.
    modalities : list of str

    Returns
    -------
    dict by parameter
        Empty if the description is of another kind.

    Examples
    --------
    >>> found = chosen_parameters("linear cosine, ridge 0.1; rotated", ["image"])
    >>> found["metric"], found["ridge"]
    ({'image': 'cosine'}, {'image': 0.1})
    """
    found = [_VIEW.fullmatch(part) for part in chosen.split("; ")[0].split(" | ")]
    if len(found) != len(modalities):
        return {}
    parameters: dict[str, dict[str, Any]] = {"features": {}, "metric": {}, "width": {}, "ridge": {}}
    for modality, match in zip(modalities, found, strict=True):
        if match is None:
            return {}
        width = match["width"]
        parameters["features"][modality] = match["features"]
        parameters["metric"][modality] = match["metric"]
        parameters["width"][modality] = "auto" if width is None else float(width)
        parameters["ridge"][modality] = float(match["ridge"])
    return parameters
