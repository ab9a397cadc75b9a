"""Install what ``make wheel`` built into fresh environments and see that it works.

``python tests/packaging/try_wheel.py dist``: the wheel with extras; the wheel with nothing else; the source archive
built where there is no compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

CHECK = Path(__file__).parent / "check_installed.py"
NEEDED = (
    "diffhash/report/page.css",
    "diffhash/experiments/symbols/page.css",
    "diffhash/service/page/index.html",
    "diffhash/py.typed",
)


def fresh(folder: Path, name: str) -> Path:
    """Python of a new environment."""
    subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
    scripts = "Scripts" if os.name == "nt" else "bin"
    return folder / name / scripts / "python"


def run(python: Path, *arguments: object, **environment: str) -> None:
    # Away from the working copy, so that nothing is imported from it.
    subprocess.run(
        [python, *map(os.fspath, map(str, arguments))],
        check=True,
        cwd=python.parent,
        env={**os.environ, **environment},
    )


def install(python: Path, what: str, **environment: str) -> None:
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", what, **environment)


def check_contents(wheel: Path, source: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in NEEDED if name not in names]
    assert not missing, f"{wheel.name} lacks {missing}"
    surplus = [name for name in names if name.endswith((".cpp", ".hpp")) or name.startswith("tests/")]
    assert not surplus, f"{wheel.name} has {surplus}"
    for licence in ("LICENSE", "THIRD_PARTY_LICENSES"):
        assert any(name.endswith(f"/licenses/{licence}") for name in names), f"{wheel.name} lacks {licence}"
    with tarfile.open(source) as archive:
        held = [name.partition("/")[2] for name in archive.getnames()]
    for name in (
        "CMakeLists.txt",
        "src/diffhash/native/cpp/bindings.cpp",
        "LICENSE",
        "THIRD_PARTY_LICENSES",
        "CITATION.cff",
        "README.md",
    ):
        assert name in held, f"{source.name} lacks {name}"


def main(dist: Path) -> None:
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    check_contents(wheel, source)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("the wheel with its extras", flush=True)
        python = fresh(folder, "extras")
        install(python, f"{wheel}[cli,report,pictures]")
        run(python, CHECK, "--native")
        print("the wheel alone", flush=True)
        python = fresh(folder, "bare")
        install(python, str(wheel))
        run(python, CHECK, "--native", "--bare")
        print("the source archive, without a compiler", flush=True)
        python = fresh(folder, "plain")
        # What CMake would look for is not there.
        nothing = os.fspath(folder / "no-compiler")
        install(python, str(source), CC=nothing, CXX=nothing)
        run(python, CHECK, "--fallback", "--bare")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
