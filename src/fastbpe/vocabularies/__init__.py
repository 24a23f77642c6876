"""Vocabularies: examining the tokens of one, maps between the ids of two, and the work of changing one."""
