"""The converter between CSR and C2SR: driver."""
