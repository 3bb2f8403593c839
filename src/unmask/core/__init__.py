"""Used by all other packages: types, errors, options, files."""
