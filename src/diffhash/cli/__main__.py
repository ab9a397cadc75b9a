"""``python -m diffhash.cli`` is the same as ``python -m diffhash``."""

from . import main

if __name__ == "__main__":
    main()
