"""How much of the package a search walks through, and what it must not import."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest

SEARCH = """
import json, sys
import numpy as np

CO_OPTIMIZED = 1  # functions; bodies of modules and classes are not
walked = set()

def note(frame, event, argument):
    _, inside, name = frame.f_code.co_filename.replace("\\\\", "/").rpartition("/thpi/")
    if event == "call" and inside and frame.f_code.co_flags & CO_OPTIMIZED:
        walked.add(name if "/" in name or name.endswith(".py") else "")

import thpi
sys.setprofile(note)
shop = thpi.open(sys.argv[1])
found = shop.search(np.ones((1, 12)), 5)
sys.setprofile(None)
loaded = [name for name in sys.modules if name.partition(".")[0] == "thpi"]
print(json.dumps({"walked": sorted(walked), "loaded": loaded, "all": list(sys.modules), "ids": found.ids.tolist()}))
"""


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    import numpy as np

    import thpi
    from thpi.collection import write

    path, rows = tmp_path_factory.mktemp("walk") / "shop.thpi", np.random.RandomState(0).standard_normal((60, 12))
    hasher = thpi.ITQ(12, random_state=0).fit(rows)
    write(path, hasher, hasher.transform(rows), range(60), about={})
    done = subprocess.run([sys.executable, "-c", SEARCH, path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout) | {"path": str(path)}


def test_a_search_finds(search):
    assert len(search["ids"][0]) == 5


def test_a_search_walks_few_files(search):
    ours = [name for name in search["walked"] if name.startswith(("collection/", "index/"))]
    assert ours == ["collection/_collection.py", "collection/_file.py", "index/_hamming_index.py", "index/_queries.py"]
    assert len(search["walked"]) <= 11, search["walked"]


def test_a_search_imports_neither_what_learns_nor_what_searches_millions(search):
    heavy = {"sklearn", "scipy", "faiss", "numba", "pandas", "pyarrow", "polars"}
    assert not heavy & set(search["all"])
    rooms = {name for name in search["loaded"] if name.startswith(("thpi.collection", "thpi.index"))}
    assert len(rooms) <= 7, rooms


def test_a_search_for_an_item_imports_no_model(search):
    """Its code is in the file."""
    program = "import sys, thpi; thpi.open(sys.argv[1]).search(id=3); print([name for name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program, search["path"]], capture_output=True, text=True, check=True)
    loaded = {name for name in ast.literal_eval(done.stdout) if name.partition(".")[0] == "thpi"}
    assert not loaded & {"thpi.encoder", "thpi.model_file", "thpi.hash_functions"}
    assert len(loaded) <= 11, loaded
