"""The reference of the commands is what their help says."""

from __future__ import annotations

import pytest

from thpi.cli import COMMANDS
from tools.commands_page import PAGE, page


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.commands_page"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_with_its_options(name):
    section = page().split(f"\n## thpi {name}\n")[1]
    assert "--" in section.split("\n## thpi ")[0]
