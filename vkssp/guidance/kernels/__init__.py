"""Compiled functions of guidance."""
