"""Data to try the methods on."""

from .paper import MultimodalData, Split, make_paper_data

__all__ = ["MultimodalData", "Split", "make_paper_data"]
