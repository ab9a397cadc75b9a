"""Data sets to try the methods on. Nothing is downloaded."""

from . import files
from .multimodal_data import MultimodalData, Split
from .paper import make_paper_data
from .symbols import Symbols, load_symbols

__all__ = ["MultimodalData", "Split", "Symbols", "files", "load_symbols", "make_paper_data"]
