"""The law of batching T(B) = c + B·m: its formulas, its fit to measured times, and intervals of ratios.

Knows nothing of servers, files, clocks or requests: numbers and arrays in, frozen records out.
"""
