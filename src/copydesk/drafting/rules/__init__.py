"""Rules by topic. Each rule is a function that yields violations; each module lists its rules in RULES."""
