"""A folder of pictures and a table of captions to a collection."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from ..errors import InputError
from ..featurizers import Featurizer, HogFeatures, PictureFeatures, TfidfFeatures
from ..hashers.base import BaseHasher
from ..types import CodeArray
from .captions import Captioned
from .filling import fill, new_collection
from .learning import Learned, learn
from .progress import Rows
from .relation import Relation
from .thumbnails import THUMBNAIL, thumbnail

__all__ = ["PictureKind", "build_from_folder", "leave_out_broken"]

_BLOCK = 256
#: Words of the vocabulary: learning takes the square of it.
_MOST_WORDS = 2000


class PictureKind(StrEnum):
    """Which built-in features see the pictures best."""

    photo = "photo"
    drawing = "drawing"


def build_from_folder(
    out: Path,
    data: Captioned,
    *,
    hasher: BaseHasher,
    kind: PictureKind,
    thumbnails: bool,
    sample: int,
    seed: int,
) -> Learned:
    """Fit featurizers and a model on captioned pictures, then add every picture and caption."""
    image: Featurizer = PictureFeatures().fit() if kind is PictureKind.photo else HogFeatures()
    names = list(data.pictures)
    places = {name: row for row, name in enumerate(names)}
    of = np.array([places[name] for name in data.of])
    relation = Relation(
        {"image": len(names), "text": len(of)}, positive=(of, np.arange(len(of), dtype=np.int64))
    )
    if sample and len(of) > sample:
        relation, rows = relation.sample(sample, seed)
        chosen, texts = [names[row] for row in rows["image"]], [data.captions[row] for row in rows["text"]]
    else:
        # Pictures without a caption teach nothing.
        captioned = np.unique(of)
        chosen, texts = [names[row] for row in captioned], data.captions
        positive = (np.searchsorted(captioned, of), np.arange(len(of), dtype=np.int64))
        relation = Relation({"image": len(chosen), "text": len(texts)}, positive=positive)
    text = _words(texts)
    views = {
        "image": np.concatenate(list(_features(image, data, chosen, "looking at pictures"))),
        "text": scipy.sparse.csr_array(text.transform(texts)),
    }
    learned = learn(hasher, views, relation, sample=0, seed=seed)
    learned.hasher.set_featurizers({"image": image, "text": text})
    _add_all(out, data, learned.hasher, views["image"] if len(chosen) == len(names) else None, thumbnails)
    return learned


def _words(texts: list[str]) -> TfidfFeatures:
    """Words that enough captions have, so that there are not too many of them."""
    for min_count in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000):
        words = TfidfFeatures(min_count=min_count).fit(texts)
        if words.n_features <= _MOST_WORDS:
            break
    return words


def _features(image: Featurizer, data: Captioned, names: list[str], title: str) -> Iterator[Any]:
    with Rows(title, len(names)) as bar:
        for start in range(0, len(names), _BLOCK):
            paths = [data.pictures[name] for name in names[start : start + _BLOCK]]
            yield image.transform(paths)
            bar.advance(len(paths))


def _add_all(out: Path, data: Captioned, hasher: BaseHasher, features: Any, thumbnails: bool) -> None:
    names = list(data.pictures)
    captions: dict[str, list[dict[str, Any]]] = {}
    for name, payload in zip(data.of, data.payloads, strict=True):
        captions.setdefault(name, []).append(payload)

    def image_codes() -> Iterator[CodeArray]:
        if features is not None:
            yield hasher.encode(features, modality="image")
            return
        for block in _features(hasher.featurizers_["image"], data, names, "encoding pictures"):
            yield hasher.encode(block, modality="image")

    def image_payloads() -> Iterator[dict[str, Any]]:
        for name in names:
            payload = _picture_payload(name, captions.get(name, []))
            yield payload | {THUMBNAIL: thumbnail(data.pictures[name])} if thumbnails else payload

    with new_collection(out, hasher) as collection:
        with Rows("adding pictures", len(names)) as bar:
            for n in fill(collection, image_codes(), "image", names, image_payloads()):
                bar.advance(n)
        texts = [hasher.encode_raw(data.captions, modality="text")]
        # One caption to a picture: both are one object under one id, and share the payload.
        ids, payloads = (data.of, None) if data.one_each else (_caption_ids(data.of), data.payloads)
        for _ in fill(collection, texts, "text", ids, payloads):
            pass


def _picture_payload(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    if len(rows) < 2:
        return dict(rows[0]) if rows else {"file": name}
    rest = {key: value for key, value in rows[0].items() if all(row.get(key) == value for row in rows)}
    return rest | {"file": name, "caption": rows[0]["caption"], "captions": [row["caption"] for row in rows]}


def _caption_ids(of: list[str]) -> Iterator[str]:
    """The picture's name and a number. No picture is called so: its name ends in that of its kind."""
    seen: dict[str, int] = {}
    for name in of:
        seen[name] = seen.get(name, 0) + 1
        yield f"{name}#{seen[name]}"


def leave_out_broken(data: Captioned) -> None:
    """Drop pictures that cannot be read, and their captions; they are counted."""
    reader = PictureFeatures()
    with Rows("checking pictures", len(data.pictures)) as bar:
        for name, path in list(data.pictures.items()):
            try:
                reader.transform([path])
            except InputError:
                del data.pictures[name]
                data.n_skipped += 1
            bar.advance(1)
    kept = [row for row, name in enumerate(data.of) if name in data.pictures]
    data.captions = [data.captions[row] for row in kept]
    data.payloads = [data.payloads[row] for row in kept]
    data.of = [data.of[row] for row in kept]
