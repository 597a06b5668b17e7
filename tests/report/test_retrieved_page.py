from __future__ import annotations

import re

import numpy as np

from thpi.report import retrieved_page


def test_marks_escapes_and_pictures() -> None:
    classes = np.array(["<b>", "<b>", "x"])
    page = retrieved_page(
        "A & B", "lead", np.array([0]), {"one <i>": np.array([[1, 2]])}, [b"q", b"r", b"w"], classes, "a test"
    )
    assert re.findall(r'class="tile p(\d)(?: (\w+))?"', page) == [("0", ""), ("1", "right"), ("2", "wrong")]
    assert "<h2>&lt;b&gt;</h2>" in page
    assert "<span>one &lt;i&gt;</span>" in page
    assert "<h1>A &amp; B</h1>" in page
    assert page.count("data:image/webp;base64,") == 3
    assert "<b>" not in page
