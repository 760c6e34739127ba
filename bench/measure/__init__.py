"""What the three clocks of each request say of one load point, and whether they can be believed.

Knows nothing of servers, protocols or how the load was made: arrays in, frozen records out.
"""
