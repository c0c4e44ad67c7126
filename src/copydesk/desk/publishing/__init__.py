"""Publishing: deliveries from due draft to settled outcome."""
