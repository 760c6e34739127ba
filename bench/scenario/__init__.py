"""Reads a scenario file into frozen objects, or says everything that is wrong with it.

`spec` holds the objects, `load` makes them. Knows nothing of servers that run, clients or results.
"""
