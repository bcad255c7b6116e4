"""The PostgreSQL engine: one database for several servers, on one machine or on many.

Writes of all servers take turns under one advisory lock, many units to a commit, as the SQLite
engine's do; so plugins meet the same order of things on both. Wake-ups travel as notifications.
"""
