"""The two-layer linear network ŷ = W₂W₁x: its flow, its representations, a semantic task; and a shallow network."""
