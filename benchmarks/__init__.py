"""Measurements: seven questions, all sides in one run (``make bench``); ``core`` stands alone."""
