"""Schedules under a clock that is moved by hand, beside what somebody else works out."""
