"""The forms in which a queue takes the jobs of a plan, a file each: one pure function from `Emission` to text."""
