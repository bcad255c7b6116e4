"""The HTTP server of ``aipm up``: a guard in front, behind it the routes of the plugins."""
