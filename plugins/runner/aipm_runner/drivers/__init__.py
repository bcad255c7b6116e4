"""How programs are spoken with: one driver for each protocol."""
