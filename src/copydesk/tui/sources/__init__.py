"""The Sources screen."""
