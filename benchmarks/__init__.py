"""Measurements: run with ``python -m benchmarks.NAME``; nothing here is part of the package."""
