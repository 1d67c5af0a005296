"""Alongside: an AI agent works in desktop applications beside the person."""

__version__ = "0.1.0"
