"""What was found, drawn on a terminal from the dictionary that --json prints."""
