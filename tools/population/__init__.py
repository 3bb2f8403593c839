"""A population of small models with known doses of bias: `python -m tools.population`."""
