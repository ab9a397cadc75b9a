"""The experiment of the paper, repeated.

:func:`run` computes the numbers that are missing. :func:`summarise` turns them into curves, tables and
findings. ``diffhash reproduce`` draws these.
"""

from .cells import Cell, compute, plan
from .content import Chart, Curve, Panel, Summary, Table
from .methods import METHODS, Method
from .results import FILE_NAME, Results, ResultsFileError
from .runner import run
from .settings import Settings
from .summary import summarise
from .verdicts import Finding

__all__ = [
    "FILE_NAME",
    "METHODS",
    "Cell",
    "Chart",
    "Curve",
    "Finding",
    "Method",
    "Panel",
    "Results",
    "ResultsFileError",
    "Settings",
    "Summary",
    "Table",
    "compute",
    "plan",
    "run",
    "summarise",
]
