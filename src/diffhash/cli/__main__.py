"""``python -m diffhash.cli``, where the script is not on the path."""

from . import main

main()
