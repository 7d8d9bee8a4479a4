"""attn for other packages, each in a module of its name."""
