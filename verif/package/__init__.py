"""The package as pip installs it, without the checkout."""
