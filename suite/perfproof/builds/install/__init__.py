"""Makes and identifies interpreters with vLLM: locks, releases, source trees, fingerprints, side folders, moved builds.

Nothing here reads a diff or asks git (`overlays` does) or chooses a build of a scenario (`prepare` does).
"""
