"""Used by all other packages: types, errors, paths."""
