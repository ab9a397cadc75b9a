"""The extension that was built with a sanitizer, in place of the installed one.

As a plugin of pytest (``-p tests.native.sanitized_kernels``) it takes the place before the package is imported. As a
program (``python -m tests.native.sanitized_kernels 5000``) it runs that many cases of the attack on native calls
in this process.
"""

from __future__ import annotations

import importlib.util
import os
import sys

_NAME = "diffhash.native._kernels"


def _use_sanitized() -> None:
    path = os.environ["DIFFHASH_SANITIZED"]
    spec = importlib.util.spec_from_file_location(_NAME, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[_NAME])


def main() -> None:
    from diffhash.native import dispatch
    from tests.attack.case import run_case
    from tests.attack.paths import new_folder
    from tests.attack.targets import TARGETS

    assert dispatch._extension is sys.modules[_NAME], "the installed extension is in use"
    found, folder = 0, new_folder()
    for name in ("native", "kernels"):
        for seed in range(int(sys.argv[1])):
            result = run_case(TARGETS[name], seed, folder)
            if result.is_finding:
                print(f"{name}:{seed}: {result.outcome}\n{result.detail}")
                found += 1
        print(f"{name}: {sys.argv[1]} cases")
    folder.rmdir()
    raise SystemExit(bool(found))


# Collecting doctests imports this module as well: it does something only if a sanitized extension is named.
if "DIFFHASH_SANITIZED" in os.environ and _NAME not in sys.modules:
    _use_sanitized()

if __name__ == "__main__":
    main()
