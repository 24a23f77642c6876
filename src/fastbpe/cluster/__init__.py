"""Work that engines for many machines (`fastbpe.spark`, `fastbpe.ray`) have in common; it imports none of them."""
