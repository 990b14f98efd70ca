"""The scheduler that stays up, as a process of its own: its life, its deaths, and what it costs."""
