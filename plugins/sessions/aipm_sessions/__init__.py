"""Projects, agents, passkeys, and the sessions agents work in."""
