"""Programs that made files of the repository."""
