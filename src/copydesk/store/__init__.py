"""SQLite persistence. The only package that imports SQLAlchemy."""
