"""The demonstration: find symbols by their names, and names by their symbols."""

from .result import Answer, DemoResult, Direction, Found, Step
from .run import COLLECTION, COSTS, N_BITS, run_demo

__all__ = ["COLLECTION", "COSTS", "N_BITS", "Answer", "DemoResult", "Direction", "Found", "Step", "run_demo"]
