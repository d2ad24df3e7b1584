"""Side by side with what people use today: ``python -m benchmarks`` (or ``make bench``)."""
