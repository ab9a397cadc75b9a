"""What was learned, as a plain value that encodes, saves and loads."""

from .hash_model import AbsentFeaturizer, HashModel, model_of
from .serialization import load_model

__all__ = ["AbsentFeaturizer", "HashModel", "load_model", "model_of"]
