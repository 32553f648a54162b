"""The mathematics: one package a topic, one module an argument."""
