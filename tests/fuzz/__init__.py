import sys
from pathlib import Path

if (folder := str(Path(__file__).parents[1])) not in sys.path:  # as tests/conftest.py does
    sys.path.insert(0, folder)
