"""The road of one call: how it is put together, and how a request goes along it."""
