"""What things are. Values only: no I/O, no clock; time comes in as an argument."""
