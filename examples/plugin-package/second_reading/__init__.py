"""A plug-in for venire. It imports `venire.plugin` and nothing else of venire's."""
