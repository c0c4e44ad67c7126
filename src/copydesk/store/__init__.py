"""How things are kept. The only place that knows SQLAlchemy."""
