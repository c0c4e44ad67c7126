"""Evaluate the engagement of posts over time: sums by period and hour, and the times that stand out. Pure."""
