"""Files: written whole, looked at before they are read, never counted twice; strict JSON with a checksum."""
