"""The field's three protocols, which differ in how the codes of the database are made."""

from __future__ import annotations

#: Databases of protocol C.
UNSEEN, TRAINING = "unseen", "training"
#: Heads of the columns. A protocol without a database here is not measured.
PROTOCOLS = {
    "C, unseen": UNSEEN,
    "C, training items": TRAINING,
    "B": None,
    "A": None,
}
WHY_NOT = (
    "B (each database object is encoded from both views, fused) and A (the database is the training items, "
    "with codes that know their labels) have a dash: they need fused codes, which the package does not have yet."
)
