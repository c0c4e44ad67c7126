"""The guarded way to the network: public addresses only, checked before they are connected to, and bodies in bounds."""

TRIES_AGAIN = "Copydesk tries again by itself."
"""What hints say of sources that are there; of one that was only tried it is not true."""
