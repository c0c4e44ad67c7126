"""Compare the sentences of a draft with its source: supported, contradicted, or cannot be told."""
