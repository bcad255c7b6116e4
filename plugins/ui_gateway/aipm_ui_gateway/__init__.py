"""User interfaces: events out, commands in, each session to its own people."""
