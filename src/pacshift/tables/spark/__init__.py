"""The same counts and sets from a Spark cluster: one tally per partition, added by Spark, a few collected.

Each executor counts its Arrow batches as files are counted (``pacshift.rows.arrow``), so pacshift must be
installed on the workers. Partitions do not matter, nor do tasks that Spark runs again.
"""

from pacshift.errors import MissingExtraError

try:
    from pacshift.tables.spark.count import tally, tally_frame
    from pacshift.tables.spark.frames import read_frame
    from pacshift.tables.spark.sets import predict_sets
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.tables.spark", error, "spark") from None

__all__ = ["predict_sets", "read_frame", "tally", "tally_frame"]
