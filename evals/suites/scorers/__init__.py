"""The scorers that venire brings, each registered under `venire.scorers` as a plug-in's would be."""
