"""A recorded deliberation heard again with one thing changed, and the controls of what jurors revised in it."""
