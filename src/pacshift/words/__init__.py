"""Everything that is said in words: numbers, statements of certificates, verdicts and refusals, tables."""
