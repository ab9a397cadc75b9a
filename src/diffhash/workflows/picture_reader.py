"""Pictures that are decoded once: for their features and for a thumbnail."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import InputError, UnreadablePicturesError
from ..featurizers import HogFeatures, PictureFeatures
from ..featurizers.opaque_pictures import opaque_picture
from ..featurizers.picture_opening import open_picture
from ..featurizers.picture_reading import read_picture, require_pillow
from ..types import FloatArray
from .options import PictureKind

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["PictureReader", "is_thumbnail", "picture_featurizer", "thumbnail"]

_SIDE = 96
#: Side of pictures for featurizers that do not say which one they need.
_LARGE = 512
_FORM = re.compile(r"data:image/(?:jpeg|png|webp);base64,[A-Za-z0-9+/]+={0,2}")
_CALLER = "build"


@dataclass
class PictureReader:
    """Reads pictures: each is opened and decoded once.

    Parameters
    ----------
    paths : dict of paths by name
    featurizer : Featurizer
        Ours get pictures of their size. Others get Pillow images.
    thumbnails : bool
        Whether to make thumbnails.
    skip : bool
        Whether pictures that cannot be read are left out. Otherwise they are an error.

    Attributes
    ----------
    thumbnails_by_name : dict
        Thumbnails of all pictures that were read, until they are taken out.
    broken : dict of str by name
        Pictures that could not be read, and why.
    known : dict of features by name
        Features of pictures that an interrupted build has read; their thumbnails are in ``thumbnails_by_name``.
    """

    paths: Mapping[str, Path]
    featurizer: Any
    thumbnails: bool
    skip: bool
    thumbnails_by_name: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    known: dict[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_pillow(_CALLER)
        size = getattr(self.featurizer, "size", _LARGE)
        self._size = size if isinstance(size, int) else _LARGE

    def read(self, names: Sequence[str]) -> tuple[list[str], FloatArray]:
        """Names of the pictures that could be read, and their features."""
        pixels = {}
        for name in names:
            if name in self.known:
                continue
            try:
                picture = _decode(self.paths[name], self._size)
            except InputError as error:
                self.broken[name] = str(error).removeprefix(f"{_CALLER}: ")
                if not self.skip:
                    self._raise_all_broken(name)
                continue
            pixels[name] = self._pixels(picture)
            if self.thumbnails:
                self.thumbnails_by_name[name] = _as_address(picture)
        good = [name for name in names if name in pixels or name in self.known]
        features = np.empty((len(good), self.featurizer.n_features), dtype=np.float32)
        if pixels:
            features[[name in pixels for name in good]] = self._features(list(pixels.values()))
        for row, name in enumerate(good):
            if name in self.known:
                features[row] = self.known[name]
        return good, features

    def _raise_all_broken(self, first: str) -> NoReturn:
        """Read the other pictures too, so that one error names all that cannot be read."""
        for name, path in self.paths.items():
            if name == first or name in self.known:
                continue
            try:
                _decode(path, self._size)
            except InputError as error:
                self.broken[name] = str(error).removeprefix(f"{_CALLER}: ")
        raise UnreadablePicturesError(self.broken)

    def _pixels(self, picture: PIL.Image.Image) -> Any:
        """What the features are computed from: for ours a small square array."""
        if isinstance(self.featurizer, HogFeatures):
            return read_picture(picture, size=self._size, mode="L", caller=_CALLER)
        if isinstance(self.featurizer, PictureFeatures):
            return read_picture(picture, size=self._size, mode="RGB", caller=_CALLER)
        return picture

    def _features(self, pictures: list[Any]) -> FloatArray:
        own = not isinstance(self.featurizer, HogFeatures | PictureFeatures)
        made = self.featurizer.transform(pictures if own else np.stack(pictures))
        found = np.asarray(made)
        if found.shape != (len(pictures), self.featurizer.n_features):
            raise InputError(
                f"{_CALLER}: the {self.featurizer.kind!r} featurizer must give {self.featurizer.n_features} features "
                f"for each of {len(pictures)} pictures, got an array of shape {found.shape}."
            )
        return found


def picture_featurizer(kind: PictureKind) -> PictureFeatures | HogFeatures:
    """Our featurizer of a kind of pictures."""
    return PictureFeatures().fit() if kind is PictureKind.photo else HogFeatures()


def thumbnail(path: Path) -> str:
    """A picture file as a ``data:`` address of at most 96 × 96 pixels."""
    return _as_address(_decode(path, _SIDE))


def is_thumbnail(value: Any) -> bool:
    """Whether a value of a payload is the ``data:`` address of a picture, and contains nothing else.

    Examples
    --------
    >>> is_thumbnail("data:image/png;base64,iVBORw0KGgo="), is_thumbnail("data:text/html,<script>")
    (True, False)
    """
    return isinstance(value, str) and _FORM.fullmatch(value) is not None


def _decode(path: Path, side: int) -> PIL.Image.Image:
    """A decoded picture, upright and opaque, with at least ``2 * side`` pixels a side if the file has them."""
    with open_picture(path, side, caller=_CALLER) as image:
        return opaque_picture(image)


def _as_address(picture: PIL.Image.Image) -> str:
    """A thumbnail as JPEG or PNG, whichever is smaller."""
    small = picture.convert("RGB")
    small.thumbnail((_SIDE, _SIDE))
    encoded = {}
    for name in ("jpeg", "png"):
        with io.BytesIO() as buffer:
            small.save(buffer, name, quality=80, optimize=True)
            encoded[name] = buffer.getvalue()
    name = min(encoded, key=lambda name: len(encoded[name]))
    return f"data:image/{name};base64,{base64.b64encode(encoded[name]).decode()}"
