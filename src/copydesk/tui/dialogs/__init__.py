"""Dialogs that lie over a screen until they are answered."""
