"""The Schedule screen."""
