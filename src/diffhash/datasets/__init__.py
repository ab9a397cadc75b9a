"""Data to try the methods on, without any download."""

from .paper import MultimodalData, Split, make_paper_data
from .symbols import Symbols, load_symbols

__all__ = ["MultimodalData", "Split", "Symbols", "load_symbols", "make_paper_data"]
