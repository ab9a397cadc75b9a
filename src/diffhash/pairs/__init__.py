"""Pairs of similar and dissimilar objects: the public :class:`Pairs`, labels, and the checked form for learning."""

from .pairs import Pairs

__all__ = ["Pairs"]
