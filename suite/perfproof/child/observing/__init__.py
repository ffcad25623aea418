"""Which functions of vLLM something calls, looked at from outside: nothing here counts or times."""
