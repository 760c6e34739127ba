"""What holds for every test."""

from __future__ import annotations

import signal

# A shell starts a background command with SIGINT ignored, and that is handed down: programs that a test interrupts
# would never hear of it.
signal.signal(signal.SIGINT, signal.default_int_handler)
