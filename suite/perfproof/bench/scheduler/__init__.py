"""The scheduler's part of a step: what is scheduled, what a step's results change, requests that come, end and are aborted."""
