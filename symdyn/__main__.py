"""`python -m symdyn` is the command `symdyn`."""

from symdyn.cli.commands import main

main()
