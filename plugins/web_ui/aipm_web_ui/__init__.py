"""The page: everything a person needs to see and decide, live, in a browser."""
