"""What belongs together: the public :class:`Pairs`, labels, and the checked form that learning works with."""

from .pairs import Pairs

__all__ = ["Pairs"]
