"""Started by the server as ``python -m alongside.driver``."""

import sys

# asyncio would load it, 10 to 20 ms of every start (measured); no driver speaks TLS.
sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]

from alongside.driver.main import main  # noqa: E402 - after the line above

sys.exit(main())
