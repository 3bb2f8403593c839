"""Measures as tests of many models: reliability, invariance, validity, and calibration on planted bias."""

from __future__ import annotations

from unmask.diagnose.psychometrics.calibration import CALIBRATION
from unmask.diagnose.psychometrics.invariance import INVARIANCE
from unmask.diagnose.psychometrics.reliability import RELIABILITY
from unmask.diagnose.psychometrics.validity import VALIDITY

__all__ = ["CALIBRATION", "INVARIANCE", "RELIABILITY", "VALIDITY"]
