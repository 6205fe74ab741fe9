"""A study: which jury to use. One module a step:

    study.py      the study file                        load_study
    plan.py       every arm, its cost, all errors       plan_study
    study_run.py  all arms in one run                   run_plan
    findings.py   which arm to use, and why             plan_findings, findings_at

`evals/studies/study_plan.py` and `study_report.py` show the plan and the findings; `commands/studying.py` calls each step.
"""
