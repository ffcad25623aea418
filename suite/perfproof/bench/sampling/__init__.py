"""The sampler's part of a step, on the host: its steps in turn, logprobs gathered, logits processors that keep a state of the batch."""
