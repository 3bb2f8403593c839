"""The mitigations, one module each: its record, its options, and how it is applied. They are found by being here.

Modules are imported to list the methods: torch and other heavy packages are imported inside functions.
"""
