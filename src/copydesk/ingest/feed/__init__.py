"""Feed parsers: strict expat, feedparser fallback, JSON Feed."""
