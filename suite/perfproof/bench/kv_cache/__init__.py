"""The KV cache's part of a step: blocks taken, kept, found again and given back; the hashes by which a prefix is found."""
