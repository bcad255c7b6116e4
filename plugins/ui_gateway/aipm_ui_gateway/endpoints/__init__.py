"""The routes of user interfaces."""
