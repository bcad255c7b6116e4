"""MCP: how agents reach the runtime, over HTTP and over standard input and output."""
