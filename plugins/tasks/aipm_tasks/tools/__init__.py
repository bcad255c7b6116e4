"""The tools agents call about tasks."""
