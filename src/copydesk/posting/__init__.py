"""Posting: an approved draft to a platform, once.

Each platform has a module of its own behind the protocol of `platform`; `delivery` decides what is done next, and knows
neither network nor database.
"""
