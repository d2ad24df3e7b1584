"""What pacshift survives: damaged files, kill signals, full disks, several writers. ``make soak`` runs it all."""
