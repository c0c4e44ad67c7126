"""Article text of web pages."""
