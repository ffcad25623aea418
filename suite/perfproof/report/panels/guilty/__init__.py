"""Panels about which code brings a change."""
