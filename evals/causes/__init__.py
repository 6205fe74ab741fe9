"""Why a juror moved: controls of its revisions, replays compared, and pressure."""
