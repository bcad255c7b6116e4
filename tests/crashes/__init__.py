"""kill -9 in every write path: before the commit, after it, and when the reply is out."""
