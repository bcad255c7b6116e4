"""Where answers come from: a script, or a model."""
