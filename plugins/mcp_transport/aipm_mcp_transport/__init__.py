"""MCP: the door agents come through, over HTTP and over standard input and output."""
