"""`python -m polyshap` is the command `polyshap`."""

import sys

from polyshap.cli import main

if __name__ == "__main__":
    sys.exit(main())
