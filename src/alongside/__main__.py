"""``python -m alongside``."""

import sys

from alongside.cli import main

sys.exit(main())
