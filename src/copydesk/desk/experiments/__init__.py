"""Experiments: creation, variant assignment, results."""
