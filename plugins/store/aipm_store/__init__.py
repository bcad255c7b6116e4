"""Where the data is kept: two engines behind the kernel's port, backup and restore."""
