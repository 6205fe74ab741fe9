"""Claims: atomic statements of a text, their checks against another, and the threshold that turns a share into a decision."""
