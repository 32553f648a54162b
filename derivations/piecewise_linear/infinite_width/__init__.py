"""Wide networks: balances at random initialisation, and the phase diagram of the first layer."""
