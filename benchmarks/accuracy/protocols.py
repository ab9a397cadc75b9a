"""The field's three protocols, which differ in how the codes of the database are made."""

from __future__ import annotations

from typing import Any

import numpy as np

import diffhash as dh
from diffhash.types import CodeArray, IntArray, Views

#: Databases of protocol C.
UNSEEN, TRAINING = "unseen", "training"
#: Databases of protocols B and A: the training items, fused.
FUSED, LABELLED = "fused", "fused with labels"
#: Heads of the columns, and the databases.
PROTOCOLS = {
    "C, unseen": UNSEEN,
    "C, training items": TRAINING,
    "B": FUSED,
    "A": LABELLED,
}
#: Widths at which B and A are measured: they need a second fit.
FUSED_WIDTHS = (16, 32)
WHY_NOT = (
    "In B and A the database is the training items: in B each is encoded from both views, fused, in A from both views "
    "and its labels, which are one more modality. Queries are the same in all protocols. B and A are measured for our "
    "methods, with labels, at 16 and 32 bits, with the first seed, as the training items of C are; without labels the "
    "query would be a part of the object that it looks for."
)


def fused_databases(hasher: Any, views: Views, labels: IntArray) -> dict[str, CodeArray]:
    """Codes of the training items in protocols B and A.

    The labels join the fitted model by ``extend``, so queries keep their codes.
    """
    hasher.calibrate(views, dh.Pairs.from_labels(dict.fromkeys(views, labels)))
    indicators = (labels[:, None] == np.unique(labels)).astype(np.float32)
    known = {**views, "label": indicators}
    pairs = dh.Pairs.from_labels(dict.fromkeys(known, labels))
    labelled = hasher.extend(known, pairs, modality="label")
    return {FUSED: hasher.encode_fused(views).codes, LABELLED: labelled.encode_fused(known).codes}
