"""Networks that are really trained, and the studies that confront the theory with them.

Import what you need by module: ``numerics.networks``, ``numerics.flows``, ``numerics.kernels``,
``numerics.conserved``. Importing this package imports neither torch nor scipy.
"""
