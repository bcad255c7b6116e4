"""Servers that others would write; each runs in the virtual environment of its library."""
