"""How messages travel: Redis streams, journal, results; the only opener of Redis."""
