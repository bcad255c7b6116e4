"""Tells another system, over HTTP, what people should hear of: questions, blocks, failed runs."""
