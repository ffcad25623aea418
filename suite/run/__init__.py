"""A Plan is executed and Records are left.

`process` starts, watches and ends what runs; `catalog` knows the benchmarks and patches there are. A `lane` is a way of running
trials: `micro` (with `micro_files`) forks those of microbenchmarks, `offline` those without a server, `serve` measures servers: `launch`
describes one, `launches` keeps them, `ports` and `server` recognise it, `starts` knows how long it may take, `watching` looks at it and
`diagnosis` buries it. It is asked by one `client`, whose figures `bench_result` reads and `counted` holds against the server's own.
`accuracy` has lm_eval score answers, asked as `evaluation` says, through such a server or offline; `equality` keeps answers token by token.
What those two and `offline` share is an `attempt_lane`, whose trials are `attempt`s.
`attest` reads what the processes said of themselves and says why a trial does not count; `environment` describes the machine without
naming it or its user, `telemetry` and `gpus` what disturbed it. `start` has a run begin on a quiet machine, `alone` holds that machine,
`scratch` what is only needed meanwhile, `doctor` says what it can run. Nothing here computes a statistic.
"""
