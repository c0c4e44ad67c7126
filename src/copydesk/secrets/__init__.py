"""Where the keys to accounts are kept: in the system's keyring, an encrypted file, or by consent in a plain one.

`vault` is the way to them; `redaction` keeps them out of what is logged and of what a crash leaves behind.
"""
