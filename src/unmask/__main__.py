"""`python -m unmask`: the command line."""

from unmask.cli import main

main()
