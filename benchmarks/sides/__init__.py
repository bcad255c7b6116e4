"""The sides of the comparison: each can be installed, started and asked."""
