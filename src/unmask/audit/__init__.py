"""Audits: items through probes, engine and measures to estimates, checks and a result folder."""
