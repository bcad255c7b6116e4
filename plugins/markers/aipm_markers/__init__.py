"""Markers in chat messages: the proof that somebody really asked for what an agent does."""
