"""The desk: every operation, one module per resource. The only place where store and crafts meet."""
