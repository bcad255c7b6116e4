"""``aipm demo``: a team at work, without a model and without a network.

The real server runs in a process of its own; three scripted agents come in through MCP, a person
through the command line. Nothing is pretended but the agents' minds.
"""
