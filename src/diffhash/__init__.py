"""Cross-modal hashing: search one kind of data with another through codes of a few bytes."""

from importlib.metadata import version as _version

from . import errors

__all__ = ["errors"]
__version__ = _version("diffhash")
