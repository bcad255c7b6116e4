"""Runs: programs of agents, started when there is work, watched, and cleaned up after."""
