"""What every noun needs: errors with their exit codes, the clock, YAML as plain values, numbers and units, untrusted text made harmless.

Nothing here knows a scenario, a record or a verdict, nor anything of vLLM.
"""
