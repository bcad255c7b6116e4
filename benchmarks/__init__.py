"""Measurements: every module has a ``run()`` that prints its numbers, both sides in one run."""
