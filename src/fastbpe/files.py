"""Names that pickles made before 0.1.0 was released look for here."""

from fastbpe.corpus.encode_files import FilesSummary

__all__ = ["FilesSummary"]
