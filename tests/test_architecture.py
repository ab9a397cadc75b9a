"""The design's arrows: imports point only backwards along the way of the data."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import diffhash

ROOT = Path(diffhash.__file__).parent

# A package may import only from packages before it. Modules of the top level count as packages.
ORDER = """
    lazy_imports errors types threads estimator_parameters validation codes atomic_write
    native pairs maps featurizers model
    learning
    evaluation search
    hashers datasets files
    stores workflows cluster
    report experiments service cli __main__
""".split()  # noqa: SIM905 - one row a layer reads better than a list


def package_of(module: str) -> str:
    return module if module in ORDER else module.split(".")[0]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, module: str) -> set[str]:
    """Modules of this package that a file imports."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("diffhash.")]
            found |= {name.removeprefix("diffhash.") for name in names}
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("diffhash")):
            base = package[: len(package) - node.level + 1] if node.level else node.module.split(".")[1:]
            base = [*base, *(node.module.split(".") if node.level and node.module else [])]
            found |= {resolve(base, alias.name) for alias in node.names}
    return found


def resolve(base: list[str], name: str) -> str:
    """The module that ``from base import name`` reads."""
    folder = ROOT.joinpath(*base)
    if (folder / name).is_dir() or (folder / f"{name}.py").exists():
        return ".".join([*base, name])
    return ".".join(base)


def test_imports_point_backwards():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        module = module_name(path)
        for imported in imports_of(path, module) if module else ():
            importer, package = package_of(module), package_of(imported)
            if package != importer and ORDER.index(package) > ORDER.index(importer):
                wrong.append(f"{module} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_imports():
    """The check above would pass on nothing: make sure that it reads what is there."""
    assert "errors" in imports_of(ROOT / "maps" / "kernel.py", "maps.kernel")
    assert "native" in imports_of(ROOT / "maps" / "base.py", "maps.base")


def test_public_names_are_these():
    assert sorted(diffhash.__all__) == [
        "BoostedHash",
        "Collection",
        "DiffHash",
        "HammingIndex",
        "HashModel",
        "KernelDiffHash",
        "Pairs",
        "RefinedHash",
        "SequentialTest",
        "asymmetric_search",
        "codes",
        "datasets",
        "errors",
        "evaluate",
        "evaluation",
        "featurizers",
        "load",
        "native",
        "stores",
        "workflows",
    ]
    for name in diffhash.__all__:
        assert hasattr(diffhash, name)
    assert set(dir(diffhash)) == {*diffhash.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'hashes'"):
        _ = diffhash.hashes


def test_nothing_unpickles_or_evaluates():
    forbidden = {"pickle", "joblib", "marshal", "shelve", "dill", "cloudpickle"}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not forbidden & {alias.name.split(".")[0] for alias in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in forbidden, path
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec"}, path
