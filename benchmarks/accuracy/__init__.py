"""Accuracy of our methods and of their peers: ``python -m benchmarks.accuracy``."""
