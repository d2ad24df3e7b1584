"""From a request to a certificate: what was asked for is checked once, then tested, solved and written down."""
