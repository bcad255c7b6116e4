"""The in-process agent of a user interface's session: input, model, tools, message."""
