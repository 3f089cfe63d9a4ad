"""What tests of readers do not collect."""

collect_ignore = ["exports"]  # which run the tools themselves, in environments of their own
