"""Training the models that ship: `python -m tools.train`."""
