"""What people see of a project: a state, and a stream of what changes in it."""
