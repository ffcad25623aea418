"""What programs print and save of a run: frames of serving clients (`client_blocks`), times of benchmark tools (`timing_blocks`), JSON
(`json_values`), and the model that a command names (`client_setup`). What people write themselves is no part of it."""
