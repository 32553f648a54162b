"""Networks that are really trained, and the studies that confront the theory with them.

Import what you need by module. ``numerics.networks``: the architectures. ``numerics.flows``: gradient flow and gradient
descent. ``numerics.ensembles``: many two-layer networks trained as one tensor program, watched by
``numerics.observers``. ``numerics.kernels``: tangent kernels and their distance. ``numerics.conserved``: the balances
of any feed-forward network, and a recorder for your own training loop. ``numerics.teacher_student``: the task of the
two-layer experiments. ``numerics.runs`` and ``numerics.sweep``: running studies, here or on any executor. Importing
this package imports neither torch nor scipy.
"""
