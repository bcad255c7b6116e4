"""Delegation: task sessions work, chat sessions talk, and one hands over to the other."""
