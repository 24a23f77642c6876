"""Fuzz targets: functions of bytes that raise only for a fault. `run.py` runs them, `seeds.py` makes seeds."""
