"""Vocabularies that change: maps between the ids of two vocabularies, and the work of changing one."""
