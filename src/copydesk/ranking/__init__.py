"""Rank items as stories and explain every part of the score. Independent of the store and the other packages."""
