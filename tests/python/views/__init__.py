"""What notebooks and terminals show."""
