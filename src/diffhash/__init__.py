"""Cross-modal hashing: search one kind of data with another through codes of a few bytes."""

from importlib.metadata import version as _version

from . import errors, native
from .index import HammingIndex

__all__ = ["HammingIndex", "errors", "native"]
__version__ = _version("diffhash")
