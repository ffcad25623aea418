"""Speculation's part of a step on the host: tokens proposed, and kept or rejected."""
