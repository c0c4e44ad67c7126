"""The same store on PostgreSQL 15 or newer.

Stored values are those of SQLite: ids as text, times as microseconds, models as JSON. The modules of the store write
SQL that both databases take; `connection` translates the rest, and `schema` derives the tables from those of SQLite.
"""
