"""Collections on the command line: opened, filled and described."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thpi.cli._shared import Facts

if TYPE_CHECKING:
    from thpi.collection import Collection, Details
    from thpi.encoder import Coding
    from thpi.tables import Learning, Value

_PICTURES = (".webp", ".png", ".jpg", ".jpeg")
_LARGEST = 2**18  # bytes of a thumbnail


def coder_of(shop: Collection, side: str = "target") -> tuple[Coding, tuple[str, ...] | None]:
    """Return what codes target rows or, of a two-sided model, source rows; and the names of their columns."""
    if side not in ("target", "source"):
        raise ValueError(f"--side {side!r} must be target or source.")
    try:
        coder: Coding = shop.hasher if side == "target" else shop.hasher.source_side
    except ValueError as error:
        raise ValueError(f"--side source: COLLECTION={str(shop.path)!r}: {error}") from None
    # Tables are read by these names; the rows are then plain arrays, about which scikit-learn would warn.
    names = vars(coder).pop("feature_names_in_", None)
    return coder, None if names is None else tuple(str(name) for name in names)


def ids_like(shop: Collection, values: Sequence[Value]) -> Any:
    """Return ids as those of the collection are: 64-bit integers, or texts; the first ids decide."""
    from thpi.tables import as_ids

    ids = shop.ids
    return [str(value) for value in values] if len(ids) and ids.dtype == object else as_ids(values)


def item_ids(rows: Learning, like: Collection | None = None) -> tuple[Any, Any]:
    """Return the ids of rows and of further target rows, as those of a collection are; None where there are none."""
    from thpi.tables import as_ids

    n, more = rows.X.shape[0], rows.views["target"]
    if rows.ids is None:
        return None, None
    if more is not None and rows.target_ids is None:
        raise ValueError("--target has no column of ids, and DATA has one: all items have ids, or none.")
    every = [*rows.ids, *(rows.target_ids or ())]
    ids = as_ids(every) if like is None else ids_like(like, every)
    return ids[:n], None if more is None else ids[n:]


def item_details(ids: Iterable[Any], texts: dict[str, str], pictures: Path | None) -> dict[Any, Details] | None:
    """Return text and picture of items: by their ids, and from files of a folder that are named after these."""
    from thpi.collection import Details

    if not texts and pictures is None:
        return None
    files: dict[str, bytes] = {}
    if pictures is not None:
        if not pictures.is_dir():
            raise ValueError(f"--pictures={str(pictures)!r} must be a folder.")
        wanted = set(map(str, ids))
        for file in sorted(pictures.iterdir()):
            if file.stem in wanted and file.suffix.lower() in _PICTURES:
                if (size := file.stat().st_size) > _LARGEST:
                    most = f"a thumbnail has at most {_LARGEST:,}"
                    raise ValueError(f"--pictures: {str(file)!r} has {size:,} bytes; {most}.")
                files[file.stem] = file.read_bytes()
        if not files:
            kinds = ", ".join(_PICTURES)
            raise ValueError(f"--pictures={str(pictures)!r} has no file named after an item ({kinds}).")
    items = [item.item() if hasattr(item, "item") else item for item in ids]
    return {item: Details(texts.get(str(item)), files.get(str(item))) for item in items}


def collection_facts(path: Path, shop: Collection, as_json: bool) -> Facts:
    """Describe a collection: what it holds, where it came from, and what was found when it was built."""
    about, evidence = shop.about, shop.evidence
    facts: Facts = {"collection": str(path), "title": about.get("title"), "items": len(shop), "bits": shop.n_bits}
    if as_json:
        return facts | {"version": shop.version, "fingerprint": shop.model} | about | {"evidence": evidence}
    first = ", ".join(str(item) for item in shop.ids[:3].tolist())
    facts["ids"] = first + (", ..." if len(shop) > 3 else "")
    choice = f": {evidence['choice']}" if "choice" in evidence else ""
    facts["method"] = f"{about['method']}{choice}"
    facts["parameters"] = evidence.get("choice_params") or None
    tables = ", ".join((about.get("tables") or {}).values()) or "?"
    facts["learned_from"] = f"{evidence.get('rows', 0):,} rows of {tables}"
    facts |= {"pairs": about.get("pairs"), "gain": _gain(evidence, about.get("relevant"))}
    if "sides_gain" in evidence:
        low, high = evidence["sides_gain_interval"]
        gained = f"two sides {evidence['sides_gain']:+.1f} ({low:+.1f} to {high:+.1f}) points over one"
        facts["sides"] = f"{evidence['sides']}; {gained}"
    facts["relation" if evidence.get("related", True) else "warning"] = evidence.get("relation")
    facts |= {"search": "exact" if about.get("recall") is None else f"recall {about['recall']:g}"}
    return facts | {"seed": about["settings"].get("random_state"), "fingerprint": shop.model, "version": shop.version}


def _gain(evidence: Facts, relevant: str | None) -> str | None:
    """What the source adds, in words; None if it was not tried."""
    if not any(entry["uses_source"] and entry["score"] is not None for entry in evidence.get("candidates", ())):
        return None
    low, high = evidence["gain_interval"]
    gain = f"{evidence['gain']:+.1f} points of MAP with it (95 % interval {low:+.1f} to {high:+.1f})"
    meaning = f"if relevant means {relevant or evidence['relevance']}, by cross-validation on the pairs"
    return f"The source is {'' if evidence['uses_source'] else 'not '}used: {gain}, {meaning}."
