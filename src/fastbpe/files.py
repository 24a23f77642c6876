"""Names that pickles of earlier versions look for here."""

from fastbpe.corpus.encode_files import FilesSummary

__all__ = ["FilesSummary"]
