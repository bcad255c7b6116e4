"""Bare servers with one tool that does nothing, and clients that do nothing but ask."""
