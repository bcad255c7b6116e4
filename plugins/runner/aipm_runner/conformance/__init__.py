"""What every adapter must bear: a scripted program that fails in all the ways real ones do."""
