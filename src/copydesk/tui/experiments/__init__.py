"""The Experiments screen."""
