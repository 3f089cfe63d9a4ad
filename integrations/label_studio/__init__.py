"""Label Studio: a server of its own, and a project from annotations to predictions."""
