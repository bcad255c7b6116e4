"""For authors of plugins: test kit, conformance checks, and a plugin to start from."""
