"""What holds for every test on stub servers."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("load_command")  # its checks say what they found, as those in the tests do
