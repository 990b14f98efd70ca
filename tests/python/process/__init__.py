"""Handlers in worker processes: what they do to their process, and what remains of it."""
