"""Reading a run back: transcript to show, export, status, graph and its analyses. Never a model call."""
