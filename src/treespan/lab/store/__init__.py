"""Units of work (`runner.py`), done in several processes (`pool.py`), and results to resume (`records.py`)."""
