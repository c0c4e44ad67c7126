"""TLS with the certificate authorities that the system trusts."""

import os
import ssl
import sys
from functools import cache
from pathlib import Path

import certifi
import truststore


@cache
def tls_context() -> ssl.SSLContext:
    """Return a TLS context that verifies certificates and host names.

    The certificate authorities are those of SSL_CERT_FILE and SSL_CERT_DIR, else the system's. Cached: loading them
    takes 25 ms.
    """
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or _openssl_finds_store():
        # truststore would load the same files again for every connection (sethmlarson/truststore#212).
        return ssl.create_default_context()
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # As pip does it: a container may have no certificate authorities at all.
    context.load_verify_locations(certifi.where())
    return context


def _openssl_finds_store() -> bool:
    """Return True if OpenSSL's default locations hold the system's certificates; on macOS they are in the keychain."""
    paths = ssl.get_default_verify_paths()  # None for a location that does not exist
    has_certificates = bool(paths.cafile) or (bool(paths.capath) and any(Path(paths.capath).iterdir()))
    return sys.platform == "linux" and has_certificates
