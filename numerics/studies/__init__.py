"""The studies, one module for each figure or experiment. ``symdyn study list`` reads this folder without
importing it.
"""
