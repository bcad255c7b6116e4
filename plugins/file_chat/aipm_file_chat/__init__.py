"""Messages between the members of a project, kept in the store and written to chat files."""
