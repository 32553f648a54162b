"""Revised knowledge: reversal learning, revised trees and the colour hierarchy."""
