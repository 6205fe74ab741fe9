"""What each command takes and prints: parse, call one function, print. What it does lives in the rooms below."""
