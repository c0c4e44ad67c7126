"""The sample desk: feeds of every type that ship with Copydesk, served in-process to the real pipeline."""
