"""How many files of the package a reader opens to follow one fit of AutoHasher."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import thpi

MOST_FILES = 30

WALK = """
import json, sys, warnings
from pathlib import Path
import numpy as np
import thpi

package, walks = Path(thpi.__file__).parent, {}
rng = np.random.RandomState(0)
S = rng.standard_normal((320, 40)) * np.linspace(3, 0.1, 40)
X = S[:120] @ rng.standard_normal((40, 60)) + rng.standard_normal((120, 60))
y = np.argmax(S[:120, :3], axis=1)
for relevance in thpi.RELEVANCES:
    files = set()

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    hasher = thpi.AutoHasher(8, relevance=relevance, random_state=0, n_repeats=2)
    sys.setprofile(note)
    hasher.fit(X, y if relevance == "labels" else None, privileged=S[:120], source=S[120:])
    sys.setprofile(None)
    walks[relevance] = sorted(str(Path(file).relative_to(package)) for file in files if file.startswith(str(package)))
print(json.dumps(walks))
"""


@pytest.mark.slow
def test_a_fit_walks_few_files():
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", WALK], capture_output=True, text=True, check=True)
    walks = json.loads(found.stdout)
    assert set(walks) == set(thpi.RELEVANCES)
    for relevance, files in walks.items():
        assert "auto/_trial.py" in files
        assert len(files) <= MOST_FILES, f"{relevance}: {len(files)} files: {', '.join(files)}"
