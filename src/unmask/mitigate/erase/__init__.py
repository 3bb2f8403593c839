"""Erasers: small files beside a checkpoint that `open_lm` applies; no weight is changed."""
