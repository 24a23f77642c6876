"""Old home of `FilesSummary`, for pickles of earlier versions."""

from fastbpe.corpus.encode_files import FilesSummary

__all__ = ["FilesSummary"]
