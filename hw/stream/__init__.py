"""Stream plumbing: the only place where valid/ready logic is written."""
