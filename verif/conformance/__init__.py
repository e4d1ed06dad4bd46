"""What every accelerator that is registered is held to, whatever it computes."""
