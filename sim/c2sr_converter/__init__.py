"""The converter between CSR and C2SR: model and driver."""
