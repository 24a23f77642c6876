"""The version; the project's metadata reads it from here."""

__version__ = "0.1.0"
