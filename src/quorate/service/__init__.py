"""`quorate serve`: votes come in over HTTP, the next task goes out."""
