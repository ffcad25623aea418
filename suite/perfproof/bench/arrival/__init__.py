"""What a request goes through before it is scheduled: its prompt and parameters are checked, and it becomes the engine's own request."""
