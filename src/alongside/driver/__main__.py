import sys

from alongside.driver.main import main

sys.exit(main())
