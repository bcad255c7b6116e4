"""Conversations: two agents of a project take turns until one of them, or a limit, ends it."""
