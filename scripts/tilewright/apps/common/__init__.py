"""What all commands of ``tilewright run`` share: files, options, limits, pictures."""
