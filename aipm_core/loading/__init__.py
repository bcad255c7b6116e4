"""Finds, chooses, orders, builds and asks plugins. The only user of pluggy."""
