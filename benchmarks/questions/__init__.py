"""One module per question of the catalogue: ``steps`` says how many, ``measure`` does them."""
