"""The Engagement screen."""
