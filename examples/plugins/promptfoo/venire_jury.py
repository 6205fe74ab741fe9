"""The file that promptfooconfig.yaml names: see docs/plugins/promptfoo.md."""

from venire.evals.plugins.promptfoo import call_api, get_assert

__all__ = ["call_api", "get_assert"]
