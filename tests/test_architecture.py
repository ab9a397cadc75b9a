"""Packages import only from packages before them; public names are pinned."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import diffhash

ROOT = Path(diffhash.__file__).parent

# A package may import only from packages before it. Modules of the top level count as packages.
ORDER = """
    lazy_imports array_modules errors paths types threads estimator_parameters sparse_arrays frames validation
    open_collections output_files codes atomic_write input_files
    native pairs maps featurizers model
    learning
    evaluation search
    hashers datasets files comparison
    stores workflows cluster
    report experiments service cli __main__
""".split()  # noqa: SIM905 - one row a layer reads better than a list


def package_of(module: str) -> str:
    return module if module in ORDER else module.split(".")[0]


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, module: str, root: Path) -> set[str]:
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
            found |= {resolve(base, alias.name, root) for alias in node.names}
    return found


def resolve(base: list[str], name: str, root: Path) -> str:
    """The module that ``from base import name`` reads."""
    folder = root.joinpath(*base)
    if (folder / name).is_dir() or (folder / f"{name}.py").exists():
        return ".".join([*base, name])
    return ".".join(base)


def forward_imports(root: Path) -> list[str]:
    """Imports of packages that come later in the order."""
    wrong = []
    for path in sorted(root.rglob("*.py")):
        module = module_name(path, root)
        for imported in imports_of(path, module, root) if module else ():
            importer, package = package_of(module), package_of(imported)
            if package != importer and ORDER.index(package) > ORDER.index(importer):
                wrong.append(f"{module} imports {imported}")
    return wrong


def test_imports_point_backwards():
    assert not forward_imports(ROOT)


def test_a_forward_import_is_found(tmp_path):
    """The test above would pass if the check saw nothing."""
    for package in ("maps", "learning", "hashers"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "learning" / "steps.py").write_text(
        "from ..maps import a\nfrom .. import maps\nfrom ..hashers import b\n"
    )
    (tmp_path / "maps" / "late.py").write_text("def f():\n    from diffhash.learning.steps import g\n")
    (tmp_path / "hashers" / "fine.py").write_text("import diffhash.learning.steps\n")

    assert forward_imports(tmp_path) == [
        "learning.steps imports hashers",
        "maps.late imports learning.steps",
    ]
    assert imports_of(tmp_path / "learning" / "steps.py", "learning.steps", tmp_path) == {"maps", "hashers"}


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
        "cluster",
        "codes",
        "compare",
        "create",
        "cross_validate",
        "datasets",
        "duplicates",
        "errors",
        "evaluate",
        "evaluation",
        "featurizers",
        "load",
        "native",
        "open",
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
