"""The HTTP server of ``aipm up``: one door with a guard, behind it the routes of the plugins."""
