"""The benchmark: problems run beside PyTorch's own modes, rows that outlive a killed run, reports drawn from them."""
