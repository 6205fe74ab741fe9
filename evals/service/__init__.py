"""Any language: a small HTTP API that has a jury score a case, with the same record behind it."""
