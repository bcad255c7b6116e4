"""Processes of others: started so that they and all they start can be ended."""
