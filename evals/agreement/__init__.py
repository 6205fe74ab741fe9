"""Every coefficient of agreement."""
