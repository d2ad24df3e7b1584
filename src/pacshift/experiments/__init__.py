"""The paper's experiments: panels, data sets, trials, tables and figures."""
