"""Notifications: an agent at work learns that somebody wants something, or that it must stop."""
