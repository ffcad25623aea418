"""The runner's part of a step before the model runs: its states, block tables, slots, sampling and attention metadata."""
