"""MatRaptor: model, driver, cycle model."""
