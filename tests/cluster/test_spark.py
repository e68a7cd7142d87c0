"""Spark in local mode: `mapInPandas` with `Explainer.partition` and its schema."""

import sys
from functools import partial

import numpy as np
import pytest

import polyshap
from cluster.partitions import ROWS, assert_same, explainer

pytest.importorskip("pyspark", reason="needs Java 17 and `pip install pyspark`")

# Spark leaves its sockets and processes to the garbage collector
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = _session(SparkSession.builder)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def _session(builder):
    return (
        builder.master("local[2,4]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


@pytest.mark.parametrize("estimator", ["adaptive", "polyshap-2"])
def test_any_partitioning_gives_the_same_numbers(spark, estimator):
    """As many partitions as you like, and as many Arrow batches in each."""
    made = explainer(estimator=estimator)
    wanted = made.partition(ROWS, keep=["id"])
    schema = made.spark_schema({"id": "bigint"})
    frame = spark.createDataFrame(ROWS)
    for n_partitions, batch in ((1, 10_000), (2, 10_000), (7, 10_000), (3, 4)):
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
        cut = frame.repartition(n_partitions)
        assert cut.rdd.getNumPartitions() == n_partitions
        assert_same(cut.mapInPandas(partial(made.partition, keep=["id"]), schema).toPandas(), wanted)


def test_several_outputs_and_empty_partitions(spark):
    """Two rows in eight partitions; every column has the type that the schema promised."""

    def two(rows):
        total = np.asarray(rows, dtype=float).sum(axis=1)
        return np.stack([total, -total], axis=1)

    made = polyshap.Explainer(two, ROWS.iloc[:3, :5], budget=22, random_state=0, output_names=["a`b", "no"])
    schema = made.spark_schema({"id": "bigint"})
    frame = spark.createDataFrame(ROWS.iloc[:2]).repartition(8)
    found = frame.mapInPandas(partial(made.partition, keep=["id"]), schema)
    assert dict(found.dtypes) == {"id": "bigint"} | dict.fromkeys(found.columns[1:], "double")
    assert_same(found.toPandas(), made.partition(ROWS.iloc[:2], keep=["id"]))


def test_the_result_is_written_where_it_is_computed(spark, tmp_path):
    """Parquet of Spark, read back: nothing went through the driver."""
    made = explainer()
    schema = made.spark_schema({"id": "bigint"})
    found = (
        spark.createDataFrame(ROWS).repartition(3).mapInPandas(partial(made.partition, keep=["id"]), schema)
    )
    found.write.parquet(str(tmp_path / "values"))
    again = spark.read.parquet(str(tmp_path / "values")).toPandas()
    assert_same(again, made.partition(ROWS, keep=["id"]))
