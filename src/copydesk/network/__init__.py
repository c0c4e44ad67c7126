"""The guarded way to the network: public addresses only, checked before they are connected to, and bodies in bounds."""
