"""Schemes: how simulations are spread over workers. One file a scheme, recognisable as its paper."""
