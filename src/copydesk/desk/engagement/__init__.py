"""Engagement: collecting and summarizing metrics."""
