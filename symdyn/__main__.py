"""`python -m symdyn` is the command `symdyn`."""

from symdyn.cli import main

main()
