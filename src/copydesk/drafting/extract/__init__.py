"""How the offline writer works: a source's sentences are read, weighed, chosen and framed."""
