"""Storage for account credentials: the system keyring, an encrypted file, or with consent a plaintext file.

`vault` reads and writes them; `log_redaction` keeps them out of logs and tracebacks.
"""
