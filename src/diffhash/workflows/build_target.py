"""Where a build writes: a file that appears when it is complete, or a collection on a server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import CollectionExistsError, CollectionNotFoundError
from ..model import HashModel
from ..stores import Collection
from ..stores import create as create_store
from ..stores.address import is_url, parse_address, shown_address
from ..stores.engine_store import EngineStore
from .model_files import open_store
from .new_collection import new_collection
from .options import FileName
from .outputs import check_collection_output

__all__ = ["BuildTarget"]


class BuildTarget:
    """The place of a new collection.

    Parameters
    ----------
    out : file or address
    overwrite : bool
        Replace an existing collection.

    Attributes
    ----------
    shown : Path or str
        The file, or the address without its password.
    beside : Path
        The file beside which an interrupted build keeps its work.
    notes : list of str
        For people: what the store cannot do.
    """

    def __init__(self, out: FileName, overwrite: bool) -> None:
        self._out = out
        self._overwrite = overwrite
        self._is_url = is_url(out)
        self.shown: Path | str = shown_address(out) if self._is_url else Path(out)
        self.beside = Path(out)
        if self._is_url:
            url = parse_address(str(out), caller="build")
            name = url.options.get("collection", url.path) or url.scheme
            self.beside = Path(re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "collection")
        self._begun = False
        self.size: int | None = None
        self.notes: list[str] = []

    def check(self, inputs: Iterable[FileName]) -> None:
        """Raise unless a collection may be made there; before anything is learned."""
        if not self._is_url:
            check_collection_output(Path(self._out), self._overwrite, inputs)
            return
        try:
            open_store(self._out).close()
        except CollectionNotFoundError:
            return
        if not self._overwrite:
            raise CollectionExistsError(
                f"{self.shown} exists already. Choose another name, or use `overwrite`."
            )

    def fate(self) -> str:
        """What became of the place if the build was interrupted, for people."""
        if self._is_url:
            begun = "is incomplete: build it again with `overwrite`" if self._begun else "was not written"
            return f"{self.shown} {begun}"
        return f"{self.shown} was not {'changed' if Path(self._out).exists() else 'written'}"

    @contextmanager
    def new(
        self, model: HashModel, fused: str | None = None, words: Sequence[str] = ()
    ) -> Iterator[Collection | EngineStore]:
        """Context manager: the new collection. A file appears at the end of the block, if it does not raise."""
        if not self._is_url:
            with new_collection(Path(self._out), model, fused, words) as collection:
                yield collection
            self.size = Path(self._out).stat().st_size
            return
        with create_store(self._out, model, fused=fused, overwrite=self._overwrite) as store:
            self._begun = True
            if words and not store.capabilities.words:
                self.notes.append(
                    "This store cannot search the words of captions; a collection file (.dh) can."
                )
            yield store
            self.size = getattr(store.stats(), "size", None)
