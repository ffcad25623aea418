"""From readings to pairs: sections, units, which side is the baseline, and what is left out."""
