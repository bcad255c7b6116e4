"""What people do, over HTTP: log in, see their tools, call them."""
