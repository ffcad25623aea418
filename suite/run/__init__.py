"""A Plan is executed and Records are left.

`process` starts, watches and ends what runs; `catalog` knows the benchmarks and patches there are;
`micro` runs a block of microbenchmark trials, `serve` one against servers; `attest` reads what the processes
said of themselves and says why a trial does not count; `environment` describes the machine without
naming it or its user. Nothing here computes a statistic.
"""
