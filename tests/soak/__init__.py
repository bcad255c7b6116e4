"""Half an hour of ordinary work on one server: nothing may grow, nothing may be missing."""
