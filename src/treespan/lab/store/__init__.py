"""Units of work (`runner.py`), in several processes (`pool.py`), and records of their results (`records.py`)."""
