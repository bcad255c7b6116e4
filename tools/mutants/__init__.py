"""Mutants of the modules that security rests on, and whether the tests notice them."""
