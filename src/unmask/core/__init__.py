"""What every other part of the package uses: types, errors, paths."""
