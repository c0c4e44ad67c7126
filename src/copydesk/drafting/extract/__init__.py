"""The offline writer: read a source's sentences, rank them, select some and fill templates."""
