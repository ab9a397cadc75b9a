"""The design's arrows: imports point only backwards along the way of the data."""

from __future__ import annotations

import ast
from pathlib import Path

import diffhash

ROOT = Path(diffhash.__file__).parent

# Each module may import only from rows above its own (or its own row, within one package).
ORDER = [
    ["errors", "threads", "types"],
    ["validation", "codes"],
    ["featurizers"],
    ["native"],
    ["labels"],
    ["pair_sets"],
    ["pairs"],
    ["storage.model_file", "storage"],
    ["files"],
    ["maps.base"],
    ["maps.linear", "maps.kernel", "maps.landmarks", "maps.whitening", "maps"],
    ["moments"],
    ["view_moments"],
    ["projections"],
    ["rotation"],
    ["refinement"],
    ["spectral_start"],
    ["histograms"],
    ["thresholds"],
    ["boosting"],
    # Evaluation knows nothing of hashers, and a hasher that chooses its own settings is judged by it.
    ["index"],
    ["ranking"],
    ["evaluation"],
    ["wald"],
    ["sequential"],
    ["selection"],
    ["hashers.raw"],
    ["hashers.base", "hashers.features", "hashers.spectral", "hashers.refined_settings"],
    ["hashers.refined_fit"],
    ["hashers.refined_search"],
    ["hashers.diff", "hashers.kernel_diff", "hashers.boosted", "hashers.refined"],
    ["hashers.featurizer_io", "hashers.model_io", "hashers"],
    ["datasets"],
    ["storage.store", "storage.keys", "storage.lock", "storage.schema", "storage.filter_cache"],
    ["storage.names", "storage.ids"],
    ["storage.database"],
    ["storage.log", "storage.payloads"],
    ["storage.where", "storage.shelf"],
    ["storage.filters", "storage.state"],
    ["storage.rewrite", "storage.verify", "storage.export", "storage.session"],
    ["storage.searching", "storage.writing", "storage.encoded"],
    ["storage.maintenance"],
    ["storage.collection"],
    ["reproduction"],
    ["demo"],
    ["report"],
    ["cli", "service", "cluster", "stores"],
]
# save() is a method of the base class, and needs the classes that derive from it.
EXCEPTIONS = {("hashers.base", "hashers.model_io")}


def rank(module: str) -> int:
    """Row of the most specific entry that names a module or a package around it."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        for number, row in enumerate(ORDER):
            if name in row:
                return number
    raise AssertionError(f"{module} has no place in the design's order: add it to ORDER")


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
        if not module:
            continue
        for imported in imports_of(path, module):
            same_package = imported.split(".")[0] == module.split(".")[0]
            allowed = rank(imported) <= rank(module) if same_package else rank(imported) < rank(module)
            if not allowed and (module, imported) not in EXCEPTIONS:
                wrong.append(f"{module} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_imports():
    """The check above would pass on nothing: make sure that it reads what is there."""
    assert "pair_sets" in imports_of(ROOT / "moments.py", "moments")
    assert "maps" in imports_of(ROOT / "view_moments.py", "view_moments")
    assert "errors" in imports_of(ROOT / "maps" / "kernel.py", "maps.kernel")
    assert rank("hashers.diff") > rank("moments") > rank("pairs")


def test_public_names_are_these():
    assert sorted(diffhash.__all__) == [
        "BoostedHash",
        "Collection",
        "DiffHash",
        "HammingIndex",
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
    ]
    for name in diffhash.__all__:
        assert hasattr(diffhash, name)


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
