"""The step kinds, one module each: each writes its output into the folder of its context."""
