"""The architectures of the papers, as torch modules whose parameters may carry leading axes: many networks at
once.
"""
