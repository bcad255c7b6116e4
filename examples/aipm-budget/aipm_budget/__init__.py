"""Holds every agent to a number of calls a day. The command is imported without the plugin."""
