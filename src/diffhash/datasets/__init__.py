"""Data to try the package on, without any download."""

from .symbols import Symbols, load_symbols

__all__ = ["Symbols", "load_symbols"]
