"""The public names of ``diffhash.stores``: these and no others, and each is documented."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from diffhash import stores

API = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
NAMES = [
    "AddedIds",
    "Capabilities",
    "Collection",
    "CollectionStats",
    "Hit",
    "Id",
    "Item",
    "MemoryStore",
    "Store",
    "StoreStats",
    "VerifyReport",
    "WordMatch",
    "add_arrow",
    "create",
    "open",
    "to_arrow",
]


def test_public_names_are_these():
    assert sorted(stores.__all__) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented(name):
    assert hasattr(stores, name)
    assert re.search(rf"^\.\. auto\w+:: diffhash\.(stores\.)?{name}$", API.read_text("utf-8"), re.MULTILINE)


def test_the_api_page_promises_no_other_name_of_stores():
    promised = re.findall(r"^\.\. auto\w+:: diffhash\.stores\.(\S+)$", API.read_text("utf-8"), re.MULTILINE)
    # The store of an engine is in its package, which needs an extra to be imported.
    of_engines = {"milvus.MilvusStore", "postgres.PostgresStore"}
    assert set(promised) <= {*NAMES, *of_engines}


def test_all_exceptions_of_the_package_are_in_errors():
    """``errors.py`` says that it has every error, so no module here defines one of its own."""
    found = []
    for module in pkgutil.walk_packages(stores.__path__, "diffhash.stores."):
        try:
            members = vars(importlib.import_module(module.name)).values()
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("diffhash"):
                raise
            continue  # an engine whose extra is not installed
        found += [m for m in members if isinstance(m, type) and issubclass(m, BaseException)]
    assert found
    assert {error.__module__ for error in found} == {"diffhash.errors"}
