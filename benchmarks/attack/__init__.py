"""Attacks on files, writers and the server: damage, malice, kills and clients that behave badly.

``python -m benchmarks.attack`` runs them all and prints one table. ``tests/attack`` runs short forms of them.
"""
