"""Operating the program: doctor, numbers, traces, sweeping, and a watch over blocking code."""
