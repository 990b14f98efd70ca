"""The whole product under kills, locks, signals and bad handlers."""
