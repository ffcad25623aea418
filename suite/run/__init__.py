"""A Plan is executed and Records are left.

`process` starts, watches and ends what runs; `catalog` knows the benchmarks and patches there are. A `lane` is a way of running
trials: `micro` (with `micro_files`) forks those of microbenchmarks, `serve` measures servers, which `launch` describes,
`launches` keeps, `server` recognises, `watching` looks at and `diagnosis` buries, by one `client`, whose figures `bench_result`
reads. `attest` reads what the processes said of themselves and says why a trial does not count; `environment` describes the
machine without naming it or its user, `telemetry` what disturbed it, `start` waits until it is quiet, `doctor` says what it can
run. Nothing here computes a statistic.
"""
