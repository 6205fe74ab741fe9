"""Said and heard: two segmentations of one talk, aligned, refined, checked, and turned into cases."""
