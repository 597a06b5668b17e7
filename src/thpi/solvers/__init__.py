"""Plain functions on arrays that the hashers stand on."""
