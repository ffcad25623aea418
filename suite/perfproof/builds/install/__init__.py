"""How an interpreter with vLLM is made and known again: locks, releases, source trees, fingerprints, side folders, moved builds.

Nothing here reads a diff or asks git (`overlays` does), and no build of a scenario is chosen (`prepare` does).
"""
