"""Content of the console's pages: values in, blocks of text out. Nothing here knows a widget or a clock."""
