"""Texts with known faults, training examples made of them or of people's ratings, and the training of a juror."""
