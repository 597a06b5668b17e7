"""The comparison of pages with what is printed can fail."""

from __future__ import annotations

import pytest

from tests._pages import run_page
from tests._shown import check_shown

PRINTED = """\
140 pairs, 1,280 features, codes of 32 bits
The source helps: +12.2 points of MAP (+5.9 to +18.5), 58.5 with it.
 MAP           32.1±3.1  24.9±2.4
 ──────────────────────
     1  four-995  distance    1.801  ██████████████████
     2  four-823  distance    1.911  █████████████████
"""


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("", ""),
        ("+12.2 points", "+12.5 points"),
        ("+5.9 to", "+5.6 to"),
        ("1.801", "1.804"),
        ("MAP (+5.9 to", "MAP\n(+5.9 to"),
        ("████ ", "███ "),
        ("────", "──"),
        ("140 pairs, 1,280 features, codes of 32 bits\n", "...\n"),
        ("features, codes of 32 bits\nThe", "... The"),
        ("     2  four-823  distance    1.911  █████████████████\n", "..."),
        ("with it.", "with it. ..."),  # nothing is left out
    ],
)
def test_what_is_alike(now, then):
    check_shown(PRINTED.replace(now, then), PRINTED)


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("+12.2 points", "+12.6 points"),
        ("+5.9 to", "+5.5 to"),
        ("+12.2 points", "-12.2 points"),
        ("58.5 with", "+58.5 with"),
        ("1.801", "1.805"),
        ("1.801", "1.80"),
        ("140", "141"),
        ("1,280", "1,281"),
        ("1,280", "1280.0"),
        ("32 bits", "33 bits"),
        ("four-995", "four-996"),
        ("helps", "hurts"),
        ("The source helps: +12.2 points of MAP (+5.9 to +18.5), 58.5 with it.\n", ""),
        ("     2  four-823  distance    1.911  █████████████████\n", ""),
        ("140 pairs, 1,280", "1,280"),
        ("with it.", "with it. Really."),
        ("140 pairs, 1,280 features", "1,280 features, 140 pairs"),
        ("four-995  distance    1.801", "four-823  distance    1.911"),
        ("██████████████████\n", "████████████████\n"),
        ("140 pairs, 1,280 features, codes of 32 bits\nThe source", "...\nAnother source"),
        ("pairs, 1,280 features, codes of 32 bits\n", "... bytes\n"),
    ],
)
def test_what_is_not_alike(now, then):
    assert now in PRINTED
    with pytest.raises(AssertionError, match="is printed"):
        check_shown(PRINTED.replace(now, then), PRINTED)


def test_left_out_words_keep_the_order_and_cannot_be_printed_twice():
    check_shown("... b ... d ...", "a b c d e")
    for shown in ("... d ... b ...", "... b ... b ...", "b ...", "... d", "... f ..."):
        with pytest.raises(AssertionError):
            check_shown(shown, "a b c d e")


RIGHT = """\
```python
for i in range(2):
    print(i, i / 3)  # 0 0.0 1 ...
print("end")
```

```output
...
end
```

```console
$ thpi demo --tables shop
$ thpi demo \\
      --tables digits  # a comment
wrote digits/pictures.csv
...
```
"""


def _run(folder, text):
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    run_page(page, folder)


def test_a_page_that_shows_what_is_printed(tmp_path):
    _run(tmp_path, RIGHT)


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("# 0 0.0 1", "# 0 0.0 2"),
        ("range(2)", "range(0)"),  # nothing is printed
        ("\nend\n```", "\nstart\n```"),
        ("...\nend\n```", "end\n```"),
        ("wrote digits/pictures.csv", "wrote digits/pictures.npy"),
        ("wrote digits/pictures.csv\n...\n", "wrote digits/pictures.csv\n"),
        ("$ thpi demo --tables shop", "$ thpi demo --tables shop\nwrote nothing"),
        ("$ thpi demo", "$ rm"),
        ("$ thpi demo", "thpi demo"),
        ("--tables shop", "--tables"),  # ends with an error
    ],
)
def test_a_page_that_shows_something_else(tmp_path, now, then):
    assert now in RIGHT
    with pytest.raises(AssertionError):
        _run(tmp_path, RIGHT.replace(now, then))
