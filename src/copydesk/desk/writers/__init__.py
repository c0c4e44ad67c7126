"""Writers: which ones are asked for a draft, the endpoints of language models, and what they cost."""
