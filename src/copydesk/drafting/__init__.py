"""Drafting: writers, and the checks that run on every draft."""
