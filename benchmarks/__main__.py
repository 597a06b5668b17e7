"""``python -m benchmarks``: the quick benchmarks, one after the other."""

from benchmarks import scaling, solvers

if __name__ == "__main__":
    solvers.main()
    scaling.main()
