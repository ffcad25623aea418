"""`python -m perfproof` is `perfproof`."""

import sys

from perfproof.cli import main

sys.exit(main())
