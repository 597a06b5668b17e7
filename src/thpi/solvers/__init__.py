"""Plain functions on arrays that the hashers use."""
