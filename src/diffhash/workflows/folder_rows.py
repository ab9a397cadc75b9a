"""The objects of a folder of pictures and captions, as rows of a collection.

A picture and its first caption are one object, whose id is the name of the picture. Its other captions are objects
with the ids ``name#2``, ``name#3`` and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..model import HashModel
from ..stores import Collection
from ..stores.engine_store import EngineStore
from ..types import FloatArray
from .captions import Caption, CaptionedPictures
from .new_collection import Rows
from .options import THUMBNAIL
from .picture_reader import PictureReader
from .progress import StepCounter

__all__ = ["ROWS_IN_BLOCK", "caption_rows", "object_ids", "old_captions", "picture_rows"]

#: Pictures that are read and encoded at a time.
ROWS_IN_BLOCK = 256


def picture_rows(
    model: HashModel,
    data: CaptionedPictures,
    reader: PictureReader,
    features: dict[str, FloatArray],
    counter: StepCounter,
    *,
    modality: str = "image",
) -> Iterator[Rows]:
    """All pictures in blocks. Those without features were not read yet."""
    payloads = _picture_payloads(data)
    names = list(data.pictures)
    for start in range(0, len(names), ROWS_IN_BLOCK):
        block = names[start : start + ROWS_IN_BLOCK]
        unread = [name for name in block if name not in features and name not in reader.broken]
        features.update(zip(*reader.read(unread), strict=True))
        good = [name for name in block if name not in reader.broken]
        if good:
            # Taken out, so that features do not pile up in memory.
            codes = model.encode(np.stack([features.pop(name) for name in good]), modality=modality)
            yield Rows(codes, good, [_with_thumbnail(payloads[name], name, reader) for name in good])
        counter.advance(len(block))


def _with_thumbnail(payload: dict[str, Any], name: str, reader: PictureReader) -> dict[str, Any]:
    return payload | {THUMBNAIL: reader.thumbnails_by_name.pop(name)} if reader.thumbnails else payload


def _picture_payloads(data: CaptionedPictures) -> dict[str, dict[str, Any]]:
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in data.pictures}
    for caption in data.captions:
        rows[caption.picture].append(caption.payload)
    return {name: _picture_payload(name, own) for name, own in rows.items()}


def _picture_payload(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of the only caption. With several captions: their list, and the fields that agree."""
    if len(rows) < 2:
        return dict(rows[0]) if rows else {"file": name}
    rest = {key: value for key, value in rows[0].items() if all(row.get(key) == value for row in rows)}
    return rest | {"file": name, "caption": rows[0]["caption"], "captions": [row["caption"] for row in rows]}


def caption_rows(model: HashModel, data: CaptionedPictures, *, modality: str = "text") -> Iterator[Rows]:
    """First captions, which share id and payload with their pictures; then the other ones."""
    codes = model.encode_raw([caption.text for caption in data.captions], modality=modality)
    numbers = np.array(_caption_numbers(data.captions))
    for rows, first in ((np.flatnonzero(numbers == 1), True), (np.flatnonzero(numbers > 1), False)):
        captions = [data.captions[row] for row in rows]
        if first:
            yield Rows(codes[rows], [caption.picture for caption in captions])
        elif captions:
            ids = [_caption_id(data.captions[row].picture, int(numbers[row])) for row in rows]
            yield Rows(codes[rows], ids, [caption.payload for caption in captions])


def _caption_id(picture: str, number: int) -> str:
    # No picture has such a name: names end in .png or the like.
    return picture if number == 1 else f"{picture}#{number}"


def object_ids(data: CaptionedPictures) -> list[str]:
    """Ids of all objects: pictures, and captions after the first one of a picture."""
    numbered = zip(data.captions, _caption_numbers(data.captions), strict=True)
    return [*data.pictures, *(_caption_id(caption.picture, n) for caption, n in numbered if n > 1)]


def old_captions(store: Collection | EngineStore, data: CaptionedPictures) -> tuple[list[str], list[str]]:
    """What replaced pictures no longer have: pictures without a caption now, and ids of surplus captions."""
    counts = Counter(caption.picture for caption in data.captions)
    surplus = []
    for name in data.pictures:
        number = max(counts[name] + 1, 2)
        while (value := _caption_id(name, number)) in store:
            surplus.append(value)
            number += 1
    return [name for name in data.pictures if not counts[name]], surplus


def _caption_numbers(captions: Sequence[Caption]) -> list[int]:
    """Number of each caption among those of its picture, from 1 on."""
    seen: Counter[str] = Counter()
    numbers = []
    for caption in captions:
        seen[caption.picture] += 1
        numbers.append(seen[caption.picture])
    return numbers
