"""Front ends that speak the AG-UI protocol."""
