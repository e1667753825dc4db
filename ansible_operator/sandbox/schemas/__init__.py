"""Schemas of all kinds: objects are read, pruned, completed and checked by them."""
