"""What was learned, as a plain value that encodes, saves and loads."""

from .calibration import Calibration, CoupleCalibration
from .fit_report import FitReport, Tried
from .fused_codes import FusedCodes
from .hash_model import AbsentFeaturizer, HashModel, model_of
from .serialization import load_model

__all__ = [
    "AbsentFeaturizer",
    "Calibration",
    "CoupleCalibration",
    "FitReport",
    "FusedCodes",
    "HashModel",
    "Tried",
    "load_model",
    "model_of",
]
