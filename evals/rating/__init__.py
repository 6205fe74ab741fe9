"""People rate cases, and sit on juries, in the browser."""
