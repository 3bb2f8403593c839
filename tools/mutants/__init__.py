"""Mutation testing: change the source in one place, run the tests that execute it, see whether one fails.

python -m tools.mutants [MODULES …] [--jobs 2] [--json F] [--markdown F]
"""
