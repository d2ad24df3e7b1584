"""The polytope of label mixes that fit the counts, for the test, PS-LP, prevalence and sensitivity."""
