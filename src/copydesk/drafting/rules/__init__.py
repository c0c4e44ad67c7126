"""What is looked for in a draft, by theme. Each rule is a function from a reading and its subject to findings."""
