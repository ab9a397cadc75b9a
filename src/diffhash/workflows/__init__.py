"""Whole tasks from files to files: build, fit, extend, encode, search, evaluate, export, copy, info and others.

The command line calls these functions, and any program can. They take names of files and small
settings, report progress to a callback, and return plain values with ``to_dict``.

Modules are imported when a name is first used: searching does not import what learning needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from .adding import add_features, add_folder
    from .comparing import CompareResult, compare
    from .copying import copy
    from .duplicating import duplicates
    from .encoding import encode, encode_fused
    from .evaluating import evaluate
    from .exporting import export
    from .extending import extend
    from .feature_build import build_features
    from .fitting import fit
    from .folder_build import build_folder
    from .inspecting import info, verify
    from .kept_work import InterruptedBuild
    from .objects import delete, get
    from .options import LearningOptions, MethodName, OptionError, PairFiles, PictureKind
    from .progress import Progress, Step
    from .results import (
        AddResult,
        BuildResult,
        CopyResult,
        DeleteResult,
        EncodeResult,
        ExportResult,
        ExtendResult,
        FileInfo,
        FitResult,
        GetResult,
        ModalityInfo,
        ModelInfo,
        UpgradeResult,
        VerifyResult,
    )
    from .search_results import (
        CalibrationCheck,
        Direction,
        DuplicatesResult,
        EvaluateResult,
        ItemInfo,
        QueryResult,
    )
    from .searching import search, search_to_page
    from .upgrading import upgrade

_OWNERS = {
    "comparing": ["CompareResult", "compare"],
    "copying": ["copy"],
    "duplicating": ["duplicates"],
    "adding": ["add_features", "add_folder"],
    "kept_work": ["InterruptedBuild"],
    "objects": ["delete", "get"],
    "encoding": ["encode", "encode_fused"],
    "evaluating": ["evaluate"],
    "exporting": ["export"],
    "extending": ["extend"],
    "feature_build": ["build_features"],
    "fitting": ["fit"],
    "folder_build": ["build_folder"],
    "inspecting": ["info", "verify"],
    "options": ["LearningOptions", "MethodName", "OptionError", "PairFiles", "PictureKind"],
    "progress": ["Progress", "Step"],
    "results": [
        "AddResult",
        "BuildResult",
        "CopyResult",
        "DeleteResult",
        "EncodeResult",
        "ExportResult",
        "ExtendResult",
        "FileInfo",
        "FitResult",
        "GetResult",
        "ModalityInfo",
        "ModelInfo",
        "UpgradeResult",
        "VerifyResult",
    ],
    "search_results": [
        "CalibrationCheck",
        "Direction",
        "DuplicatesResult",
        "EvaluateResult",
        "ItemInfo",
        "QueryResult",
    ],
    "searching": ["search", "search_to_page"],
    "upgrading": ["upgrade"],
}

__all__ = [
    "AddResult",
    "BuildResult",
    "CalibrationCheck",
    "CompareResult",
    "CopyResult",
    "DeleteResult",
    "Direction",
    "DuplicatesResult",
    "EncodeResult",
    "EvaluateResult",
    "ExportResult",
    "ExtendResult",
    "FileInfo",
    "FitResult",
    "GetResult",
    "InterruptedBuild",
    "ItemInfo",
    "LearningOptions",
    "MethodName",
    "ModalityInfo",
    "ModelInfo",
    "OptionError",
    "PairFiles",
    "PictureKind",
    "Progress",
    "QueryResult",
    "Step",
    "UpgradeResult",
    "VerifyResult",
    "add_features",
    "add_folder",
    "build_features",
    "build_folder",
    "compare",
    "copy",
    "delete",
    "duplicates",
    "encode",
    "encode_fused",
    "evaluate",
    "export",
    "extend",
    "fit",
    "get",
    "info",
    "search",
    "search_to_page",
    "upgrade",
    "verify",
]


__getattr__ = lazy_getattr(__name__, {name: module for module, names in _OWNERS.items() for name in names})


def __dir__() -> list[str]:
    return list(__all__)
