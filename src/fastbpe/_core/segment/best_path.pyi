"""Search for the tokens of a text whose scores have the greatest sum. Only for the core."""
