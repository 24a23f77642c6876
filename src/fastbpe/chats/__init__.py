"""Chats as the text of a prompt: models' templates, the format of gpt-oss, OpenAI's overhead as an estimate."""

from fastbpe.chats.estimates import EstimatedCount

__all__ = ["EstimatedCount"]
