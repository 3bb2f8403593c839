"""The methods by name."""

from __future__ import annotations

from unmask.mitigate.at import AT, AT_CODE
from unmask.mitigate.cda import CDA
from unmask.mitigate.cda_kaneko import CDA_KANEKO
from unmask.mitigate.cds import CDS
from unmask.mitigate.dropout import DROPOUT, DROPOUT_BIAS_BENCH
from unmask.mitigate.erase.fit import METHODS as ERASERS
from unmask.mitigate.spec import Method

TRAINING = (CDA, CDA_KANEKO, CDS, DROPOUT, DROPOUT_BIAS_BENCH, AT, AT_CODE)
METHODS: dict[str, Method] = {method.name: method for method in (*TRAINING, *ERASERS)}
