"""Better words for a persona, a rubric or an orchestrator, looked for on some cases and judged on others."""
