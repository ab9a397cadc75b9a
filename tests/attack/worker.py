"""A process that runs cases, and its other end: a crash or a hang of the process is a finding."""

from __future__ import annotations

import faulthandler
import json
import os
import select
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self

from .case import Result, run_case
from .paths import FOLDER, ROOT, new_folder

__all__ = ["Worker"]

#: Seconds without an answer after which a worker is ended. A case may take two seconds of CPU, and the machine is busy.
PATIENCE = 60
#: One thread for each library, and allocators that do not reserve memory in advance: memory is measured.
ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "DIFFHASH_NUM_THREADS": "2",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONUTF8": "1",
}


class Worker:
    """A process that runs cases one after the other, and is started again after it has crashed.

    Parameters
    ----------
    preload : path, optional
        A library for ``LD_PRELOAD``.
    """

    def __init__(self, preload: Path | None = None) -> None:
        self._folder = new_folder()
        self._environment = {**os.environ, **ENVIRONMENT, FOLDER: os.fspath(self._folder)}
        if preload is not None:
            self._environment["LD_PRELOAD"] = os.fspath(preload)
        self._process: subprocess.Popen[bytes] | None = None
        self._n_cases = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process and remove its files."""
        self._stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, target: str, seed: int) -> Result:
        """Run one case."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin
        assert self._process.stdout
        self._n_cases += 1
        self._process.stdin.write(f"{target} {seed}\n".encode())
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE + 10)
        line = self._process.stdout.readline() if ready else b""
        if line.endswith(b"\n"):
            result = Result(**json.loads(line))
            # A new process now and then: libraries keep a little memory for each damaged file.
            if result.outcome == "memory" or self._n_cases >= 3000:
                self._stop()
            return result
        status: int | str = self._process.wait(10) if ready else "unknown, as it did not answer"
        said = (self._folder / "stderr").read_text(errors="replace")
        said = said.partition("\nExtension modules:")[0][-3000:]
        self._stop()
        kind = "hang" if not ready or "Timeout (" in said else "crash"
        return Result(kind, f"the process ended with status {status}\n{said}", kind)

    def _start(self) -> None:
        self._n_cases = 0
        with (self._folder / "stderr").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.attack.worker", os.fspath(self._folder / "a" / "b" / "cases")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self._environment,
                cwd=ROOT,
            )

    def _stop(self) -> None:
        if self._process is not None:
            assert self._process.stdin
            assert self._process.stdout
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def main() -> None:
    """Answer each line ``target seed`` with a line of JSON."""
    from .targets import TARGETS
    from .targets.sabotage import SABOTAGE

    # Deep enough that a name such as "../../x" stays inside the worker's own folder.
    folder, targets = Path(sys.argv[1]), TARGETS | SABOTAGE
    folder.parent.mkdir(parents=True, exist_ok=True)
    # What a target prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    for line in sys.stdin:
        name, seed = line.split()
        os.chdir(folder.parent)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        # Hostile names of files are often relative.
        os.chdir(folder)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        result = run_case(targets[name], int(seed), folder)
        faulthandler.cancel_dump_traceback_later()
        answers.write(json.dumps(result.to_dict()) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
