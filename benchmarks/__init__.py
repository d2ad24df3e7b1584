"""The lab: every measurement, study and figure behind the documentation. ``python -m benchmarks PART...``"""
