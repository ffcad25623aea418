"""What a step's tokens go through on their way to the user: text, logprobs, stop strings, messages between processes, the front end."""
