"""A source's bytes become entries. Knows neither the store nor the other crafts."""
