"""``upgrade``: a collection in the newest format."""

from __future__ import annotations

from .model_files import open_collection
from .options import FileName
from .results import UpgradeResult

__all__ = ["upgrade"]


def upgrade(collection: FileName) -> UpgradeResult:
    """Bring the file of a collection to the newest format; content and search results do not change.

    The file is checked first, as :func:`verify` does. The upgrade is one transaction: after a crash the
    file has the old format or the new one, and is complete. Older releases of diffhash cannot read the
    new format.

    Parameters
    ----------
    collection : collection (.dh)
        Nobody else may be writing to it.

    Raises
    ------
    CollectionError
        If the file is damaged or is being written to; nothing was changed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.dh"
    >>> dh.Collection.create(path, hasher).close()
    >>> upgrade(path).upgraded
    False
    """
    with open_collection(collection, writable=True) as store:
        before = store.stats().format_version
        store.upgrade()
        after = store.stats().format_version
    return UpgradeResult(str(collection), before, after)
