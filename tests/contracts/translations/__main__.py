"""Updates the catalogs."""

import sys

from tests.contracts.translations import main

sys.exit(main())
