"""Commands of user interfaces: frames in, calls of people's tools, acks and errors out."""
