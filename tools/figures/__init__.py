"""Measuring the models that ship: `python -m tools.figures`."""
