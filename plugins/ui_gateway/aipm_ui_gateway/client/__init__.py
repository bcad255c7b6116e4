"""``aipm chat``: a user interface in a terminal."""
