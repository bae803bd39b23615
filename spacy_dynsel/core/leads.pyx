"""Gives Python the leads that are none, see leads.pxd."""
