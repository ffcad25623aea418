"""How other programs are started, watched and ended, where temporary files go, and what is blotted out of what they print.

`supervised_process` is the only module that imports `subprocess`. Nothing here knows what is built or measured.
"""
