"""What a process does beside its steps: garbage collection, metrics, logging."""
