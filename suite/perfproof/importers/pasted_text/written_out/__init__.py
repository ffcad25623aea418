"""Forms that single tools print, written out before anything is read: each number with its name and its side on a line."""
