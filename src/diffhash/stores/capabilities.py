"""What each kind of store can do beyond what all of them can.

All declarations are in this file, so that an error can name the stores that can do a thing without importing their
engines. ``store.capabilities`` is one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import UnsupportedCallError

__all__ = ["ENGINES", "Capabilities", "require"]


@dataclass(frozen=True)
class Capabilities:
    """What a store can do.

    Every store adds, replaces, deletes, gets and iterates over objects, and searches by codes or features, within a
    radius, with filters and with chances.

    Attributes
    ----------
    words : bool
        Matches texts with the words of captions: ``search_words``, ``index_words``, ``search_raw(words=True)``.
    duplicates : bool
        Finds all pairs of near objects: ``duplicates``.
    asymmetric : bool
        Ranks by the query's real values: ``search(rank="asymmetric")``.
    fused : bool
        Can have a modality of fused codes.
    transactions : bool
        A call that fails or is interrupted changes nothing. Without it, a part of a large call may have been stored;
        repeating the call does no harm.
    ordered : bool
        Objects at equal distance are in the order in which they were added. Without it their order is any.
    new_model : bool
        The model of a filled store can be replaced: ``refit``, ``extend``.
    several_writers : bool
        Several processes can have the store open for writing.
    approximate : bool
        Can answer from an approximate index, if asked to.

    Examples
    --------
    >>> ENGINES["sqlite"].words, ENGINES["postgresql"].words
    (True, False)
    """

    words: bool = False
    duplicates: bool = False
    asymmetric: bool = False
    fused: bool = True
    transactions: bool = True
    ordered: bool = True
    new_model: bool = False
    several_writers: bool = False
    approximate: bool = False


#: Capabilities by engine, see :mod:`.registry`.
ENGINES = {
    "sqlite": Capabilities(words=True, duplicates=True, asymmetric=True, new_model=True),
    "memory": Capabilities(duplicates=True, asymmetric=True),
    "postgresql": Capabilities(several_writers=True, approximate=True),
    "milvus": Capabilities(
        fused=True, transactions=False, ordered=False, several_writers=True, approximate=True
    ),
    "http": Capabilities(asymmetric=True, several_writers=True),
}
_NAMES = {
    "sqlite": "a collection in a file (.dh)",
    "memory": "a MemoryStore",
    "postgresql": "PostgreSQL (postgresql://…)",
    "milvus": "Milvus (milvus://…)",
    "http": "a service (http://…)",
}


def require(capabilities: Capabilities, name: str, *, store: str, caller: str, what: str) -> None:
    """Raise unless a store has a capability; the error names stores that have it.

    Parameters
    ----------
    capabilities : Capabilities
        Those of the store.
    name : str
        A field of :class:`Capabilities`.
    store : str
        What the store is, for people.
    caller, what : str
        The function, and what the store would have to do.

    Examples
    --------
    >>> require(ENGINES["postgresql"], "words", store="a PostgreSQL store", caller="search_words", what="search words")
    Traceback (most recent call last):
    diffhash.errors.UnsupportedCallError: search_words: a PostgreSQL store cannot search words. These stores can:
    a collection in a file (.dh). `diffhash copy` moves the objects there.
    """
    assert name in {field.name for field in fields(Capabilities)}
    if getattr(capabilities, name):
        return
    able = [_NAMES[engine] for engine, others in ENGINES.items() if getattr(others, name)]
    raise UnsupportedCallError(
        f"{caller}: {store} cannot {what}. These stores can: {', '.join(able)}. "
        "`diffhash copy` moves the objects there."
    )
