"""Is this identically zero? What sign has it? What is its limit? And would the check notice a lie?"""
