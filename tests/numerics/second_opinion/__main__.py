"""Both implementations side by side, for all claims or for those that are named."""

import sys

from tests.numerics.second_opinion.comparing import report

if __name__ == "__main__":
    print("\n".join(report(sys.argv[1:])))
