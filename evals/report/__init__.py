"""What a result looks like: sections of sentences, tables and figures, and their renderers."""
