"""The laboratory: measurements of games and searches."""
