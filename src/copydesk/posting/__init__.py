"""Publish approved drafts to platforms, each exactly once.

Every platform has its own module behind the `Platform` protocol. `delivery_states` decides which request comes next and
knows neither the network nor the database.
"""
