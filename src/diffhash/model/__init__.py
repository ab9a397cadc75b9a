"""What was learned, as a plain value that encodes, saves and loads."""

from .fit_report import FitReport, Tried
from .hash_model import AbsentFeaturizer, HashModel, model_of
from .serialization import load_model

__all__ = ["AbsentFeaturizer", "FitReport", "HashModel", "Tried", "load_model", "model_of"]
