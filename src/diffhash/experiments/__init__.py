"""Experiments with the library: the experiment of the paper, and the demonstration with symbols."""
