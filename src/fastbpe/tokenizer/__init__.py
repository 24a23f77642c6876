"""Tokenizers: conversion of text to ids and back."""

from fastbpe.tokenizer.tokenizer import Tokenizer, _unpickle

__all__ = ["Tokenizer", "_unpickle"]
