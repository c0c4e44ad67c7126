"""Accounts: sign-in, credentials, connection checks."""
