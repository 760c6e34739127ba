"""results/<scenario>/<run>/: the only reader and writer of a run's files."""
