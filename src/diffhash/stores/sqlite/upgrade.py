"""From format 1 to format 2, in one transaction: after a crash the file has either format, whole."""

from __future__ import annotations

from hashlib import sha256

from .database import Database
from .description import set_meta
from .payloads import payload_checksum
from .schema import FORMAT_VERSION, added_tables
from .seal import seal
from .stored_model import read_model
from .totals import PAYLOADS

__all__ = ["upgrade_format"]


def upgrade_format(db: Database, identity: str) -> None:
    """Write everything that format 2 has and format 1 has not; within a transaction.

    The content must have been verified: new checksums say that it is right.

    Parameters
    ----------
    db : Database
        Of format 1.
    identity : str
        The new identity of the collection. Whoever has the file open, also with an older release, is then told
        to open it again.
    """
    model = read_model(db)
    for statement in added_tables(FORMAT_VERSION):
        db.execute(statement)
    db.execute(
        "INSERT INTO totals SELECT stream, sum(count), sum(crc) % (1 << 32) FROM segments GROUP BY stream"
    )
    db.add_function("diffhash_checksum", 2, lambda key, text: payload_checksum(FORMAT_VERSION, key, text))
    db.execute("UPDATE payloads SET crc = diffhash_checksum(key, payload)")
    db.execute(
        "INSERT INTO totals SELECT ?, count(*), sum(crc) % (1 << 32) FROM payloads HAVING count(*)",
        (PAYLOADS,),
    )
    db.execute("INSERT INTO meta VALUES ('model_sha256', ?)", (sha256(model).hexdigest(),))
    set_meta(db, {"identity": identity})
    db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    seal(db)
