"""The counters behind ``/metrics``, in Prometheus text form."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

from thpi.web.catalogue import Catalogue

__all__ = ["Counters"]

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Counters:
    """Counters of one app; each app has its own registry, so that several apps can share a process."""

    def __init__(self, catalogue: Catalogue) -> None:
        from thpi import __version__

        self.registry = registry = CollectorRegistry()
        self.requests = Counter("thpi_requests", "Requests answered.", ["route", "status"], registry=registry)
        self.seconds = Histogram(
            "thpi_request_seconds",
            "Time from the first byte to the answer.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.running = Gauge("thpi_requests_in_progress", "Requests that are being answered.", registry=registry)
        self.queries = Counter("thpi_queries", "Vectors and ids searched for.", registry=registry)
        self.index_seconds = Histogram(
            "thpi_index_seconds", "Time of a search in the index alone.", buckets=_SECONDS, registry=registry
        )
        codes = Gauge("thpi_index_codes", "Codes in the index.", ["method", "bits"], registry=registry)
        for engine in catalogue.engines:
            codes.labels(engine.method, str(engine.n_bits)).set_function(engine.index.__len__)
        Info("thpi_build", "The package.", registry=registry).info({"version": __version__})

    def text(self) -> bytes:
        """Return all counters as text."""
        return generate_latest(self.registry)
