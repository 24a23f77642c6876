"""Work that `fastbpe.spark` and `fastbpe.ray` have in common. It imports neither engine."""
