"""Drafts: creation, review, undo, history, queue windows."""
