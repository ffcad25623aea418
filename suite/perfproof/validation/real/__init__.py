"""Known slowdowns on a real machine, found or not, beside the tools that people use today: `python -m perfproof.validation.real`.

Every verdict on its page is computed again from the kept lines. Nothing here is simulated.
"""
