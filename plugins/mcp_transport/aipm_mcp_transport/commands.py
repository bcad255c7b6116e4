"""``aipm mcp-config``."""
