"""What SIDA computes and holds, against arithmetic and graphs of others."""
