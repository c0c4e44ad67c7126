"""Which variant a draft gets, what that changes and what came of it. Knows neither the store nor the other crafts."""
