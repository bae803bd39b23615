"""Gives Python the leads and the margin that are none, see leads.pxd."""
