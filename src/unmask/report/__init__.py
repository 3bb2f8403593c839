"""Reports of results: self-contained pages that work offline, tables for papers, figures, model cards.

one audit      ──► selection ──► wording, charts, pairs ──► audit_page ──► page.html.jinja
several audits ──► audit.compare ──► change_summary, wording, figures ──► comparison_page ──► comparison.html.jinja
other results  ──► their findings ──► findings.html.jinja

`unmask.report(...)` is the public function, in `run.py`.
"""

from __future__ import annotations

from unmask.core.lazy_imports import make_callable

make_callable(__name__, "unmask.report.run", "report")
