"""Agents: their records, and how they run."""
