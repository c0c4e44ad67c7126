"""Experiments on drafting: assign variants, apply them to the voice, aggregate results. Independent of the store."""
