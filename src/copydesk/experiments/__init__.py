"""Experiments on drafting: plan them, validate them, assign and apply their variants, evaluate the results."""
