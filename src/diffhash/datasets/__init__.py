"""Data to try the methods on, without any download."""

from . import files
from .paper import MultimodalData, Split, make_paper_data
from .symbols import Symbols, load_symbols

__all__ = ["MultimodalData", "Split", "Symbols", "files", "load_symbols", "make_paper_data"]
