"""Features of raw objects: a column of texts, or of names of pictures, in front of a featurizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import InputError, InputFileError
from ..featurizers import Featurizer
from ..featurizers.base import takes_pictures
from ..types import FloatArray
from .features import FeatureFile
from .source import Source
from .tables import TABLE_KINDS, open_table

__all__ = ["RawFeatures", "has_raw_objects"]

#: Objects that a featurizer gets at a time.
_BLOCK = 256


def has_raw_objects(source: Source) -> bool:
    r"""Whether a source is one column of texts in a table, so that it needs a featurizer.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = path.write_text("caption,x,y\na star,1,2\n")
    >>> has_raw_objects(Source(path, "caption")), has_raw_objects(Source(path, "x,y"))
    (True, False)
    """
    if source.kind not in TABLE_KINDS:
        return False
    table = open_table(source)
    name = source.part or (table.columns[0] if len(table.columns) == 1 else None)
    if name not in table.columns:
        return False
    with closing(table.places_and_rows()) as rows:
        _, first = next(rows, ("", {}))
    return isinstance(first.get(name), str)


class RawFeatures(FeatureFile):
    """Features of the raw objects in a column of a table. They are computed once, and kept in memory.

    Parameters
    ----------
    source : Source
        Texts for a featurizer of texts. For one of pictures, names of files: relative to the folder of the
        table, and in it.
    featurizer : Featurizer
    advance : function, optional
        Called with the number of objects that were featurized.
    """

    def __init__(
        self, source: Source, featurizer: Featurizer, advance: Callable[[int], None] | None = None
    ) -> None:
        self.source, self._featurizer, self._advance = source, featurizer, advance
        with source.reading():
            table = open_table(source)
            name = table.column_name()
            places = [(place, row.get(name)) for place, row in table.places_and_rows()]
        self._objects: list[Any] = []
        for place, value in places:
            if not isinstance(value, str) or not value:
                raise InputFileError(f"{source}, {place}: expected text, got {value!r:.60}.")
            self._objects.append(value)
        if takes_pictures(featurizer):
            folder = source.path.parent
            self._objects = [_picture(folder, str(value), source) for value in self._objects]
        self.n_rows = len(self._objects)
        self.n_features = featurizer.n_features
        self._features: FloatArray | None = None

    def array(self) -> NDArray[Any]:
        """All rows."""
        if self._features is None:
            features = np.empty((len(self._objects), self.n_features), dtype=np.float32)
            for start in range(0, len(self._objects), _BLOCK):
                block = self._objects[start : start + _BLOCK]
                features[start : start + len(block)] = self._transform(block, start)
                if self._advance is not None:
                    self._advance(len(block))
            self._features = features
        return self._features

    def _transform(self, block: list[Any], start: int) -> NDArray[Any]:
        try:
            made = self._featurizer.transform(block)
        except InputError as error:
            raise type(error)(f"{self.source}, rows from {start}: {error}") from error
        found = np.asarray(made.toarray() if scipy.sparse.issparse(made) else made)
        if found.shape != (len(block), self.n_features):
            raise InputFileError(
                f"{self.source}: the {self._featurizer.kind!r} featurizer must give {self.n_features} features for "
                f"each of {len(block)} objects, got an array of shape {found.shape}."
            )
        return found

    def _blocks(self, n_rows: int | None, keep: int) -> Iterator[NDArray[Any]]:  # noqa: ARG002 - nothing is reused
        features = self.array()
        step = self.block_rows(features.itemsize) if n_rows is None else n_rows
        for start in range(0, len(features), step):
            yield features[start : start + step]


def _picture(folder: Path, name: str, source: Source) -> Path:
    path = folder / name
    # A table from elsewhere must not name files anywhere on the machine.
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a name that no file can have, or a circle of links
        inside = False
    if not inside:
        raise InputFileError(
            f"{source}: {name!r:.100} is not in the folder of the table. Put the table beside the pictures, and name "
            "them relative to its folder."
        )
    return path
