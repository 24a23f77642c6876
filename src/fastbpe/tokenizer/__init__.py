"""Tokenizers: conversion of text to ids and back."""

from fastbpe.tokenizer.tokenizer import Tokenizer

__all__ = ["Tokenizer"]
