"""CustomResourceDefinitions: their rules, the kinds that they bring, and CEL."""
