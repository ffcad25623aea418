"""`python -m suite.cli` is `perfproof`."""

import sys

from suite.cli import main

sys.exit(main())
