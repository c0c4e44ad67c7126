"""Items become ranked stories, with every part of the score. Knows neither the store nor the other crafts."""
