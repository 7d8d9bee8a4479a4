"""Variables of the environment that calls ask for."""

import os

# Has the names of those that are set, as bytes. os.environ itself finds out by an
# error that one is not, which takes a microsecond.
SET = getattr(os.environ, "_data", os.environb)
