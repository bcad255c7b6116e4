"""Writes docs/reference/ from the code: ``python -m tools.reference`` (``--check`` compares)."""
