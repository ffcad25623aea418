"""What words and cells mean by themselves: numbers with units, names of metrics, ways to do one thing, numbers of runs."""
