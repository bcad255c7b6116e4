"""Kinds of programs that this plugin can run."""
