"""Structured output's part of a step: bitmasks filled and applied, grammars that advance."""
