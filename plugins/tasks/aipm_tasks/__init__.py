"""Tasks: what there is to do, who does it, and what an agent does next."""
