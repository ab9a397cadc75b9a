"""What the surfaces call: build, fit, encode, search, evaluate and export, from files to files."""
