"""The network f(x) = aᵀσ(Wx): its activation, the flow of each neuron, and what it can represent."""
