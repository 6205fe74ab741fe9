"""The inspector: reads the record of a run and shows it, in a browser on this machine. Never runs a jury."""
