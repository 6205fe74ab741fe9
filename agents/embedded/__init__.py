"""The embedded model's engine, in numpy: weights, tokens, the transformer, the form that an answer is held to, the choice of each token."""
