"""Results that can be resumed (`records.py`), and units of work in several processes (`pool.py`)."""
