"""Who asks, and whether they may: tokens, RBAC, reviews, impersonation."""
