"""The assertion file that promptfooconfig.yaml names: see docs/plugins/promptfoo.md."""

from venire.evals.plugins.promptfoo import get_assert

__all__ = ["get_assert"]
