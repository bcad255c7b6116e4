"""Which tool calls are allowed, denied, or first confirmed by a person; and a record of it all."""
