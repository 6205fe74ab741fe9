"""The jury of summaries.yaml: see docs/plugins/lm-eval.md."""

from venire.evals.plugins.lm_eval import jury_results

process_results = jury_results("../rubric.yaml", "../jury.yaml", source="notes", reference="expected")
