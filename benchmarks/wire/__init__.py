"""Clients that do nothing but ask: over HTTP, over stdio, and many of them at once."""
