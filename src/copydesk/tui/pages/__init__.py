"""What stands on the pages of the console: values in, blocks of text out. No widget, no clock."""
