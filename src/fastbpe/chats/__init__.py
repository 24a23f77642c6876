"""Chats as the text of a prompt: models' templates, gpt-oss's format, and an estimate of OpenAI's overhead."""

from fastbpe.chats.estimates import EstimatedCount

__all__ = ["EstimatedCount"]
