"""The model writer: a language model behind an HTTP endpoint becomes a writer."""
