"""Moves everything from one engine to the other, whole or not at all: ``aipm db copy``."""
