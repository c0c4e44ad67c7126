"""An item and a voice become a draft. Knows neither the store nor the other crafts."""
