"""limit-file-size.py BYTES COMMAND...: runs a command that may write no file
larger than that."""

import os
import resource
import sys

limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execvp(sys.argv[2], sys.argv[2:])
