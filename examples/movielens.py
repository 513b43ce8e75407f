"""Makes the input of the demo: scored impressions from real ratings.

The MovieLens sample inside every Spark (1,501 ratings of 100 films by 30 users) is split by a fixed rule. Spark ML's
ALS learns from one part and scores the other; the popularity of an item is the baseline. One row per held-out rating:

    user_id       long
    item_id       long
    rating        double  1 to 5: the graded label
    als           double  the rating that ALS expects
    popularity    double  how many training ratings the item has: small whole numbers, so many scores are tied
    user_ratings  string  few: the user has less than 40 training ratings; else many (there are 35 to 51)
    film_ratings  string  few: the item has less than 13; else many (there are 6 to 16)

The last two are slices: about half of the users and of the held-out ratings are on either side. The sample knows no
more of a user or a film than these ratings: it has no genres, and one time for all of them.

The training ratings are written beside it, as `user_id` and `item_id`: what the users had before, from which the
evaluation counts how popular films are.

A user or item without training ratings has no factors, and ALS gives NaN. Such a row gets the mean training rating:
it stays in the evaluation, at a place that claims nothing, and the run says how many there are.

    spark-submit examples/movielens.py --date 2026-01-31 --output demo/impressions --history demo/ratings
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
from pathlib import Path

import pyspark
from pyspark.ml.recommendation import ALS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SAMPLE = Path("data/mllib/als/sample_movielens_ratings.txt")
# Fewer training ratings than these are few.
USER_RATINGS, FILM_RATINGS = 40, 13


def sample_file() -> Path:
    """Where this Spark keeps its MovieLens sample: pip puts it beside the code, an unpacked Spark under SPARK_HOME."""
    homes = [Path(pyspark.__file__).parent]
    if "SPARK_HOME" in os.environ:
        homes.append(Path(os.environ["SPARK_HOME"]))
    for home in homes:
        if (home / SAMPLE).is_file():
            return home / SAMPLE
    raise SystemExit(f"This Spark has no {SAMPLE} in {' or '.join(map(str, homes))}: use one installed by pip.")


def read_ratings(spark: SparkSession, path: Path) -> DataFrame:
    """The ratings as user, item, rating. A line is `user::item::rating::timestamp`."""
    field = F.split("value", "::")
    return spark.read.text(f"file://{path.resolve()}").select(  # not as_uri(): Spark takes %20 for a name
        field[0].cast("int").alias("user"),  # ALS takes 32-bit ids only
        field[1].cast("int").alias("item"),
        field[2].cast("double").alias("rating"),
    )


def split_ratings(ratings: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Training and held-out ratings. The rule looks at the ids alone, so nobody's random numbers matter."""
    held_out = (31 * F.col("user") + 17 * F.col("item")) % 5 == 0
    return ratings.where(~held_out), ratings.where(held_out)


def score_with_als(train: DataFrame, test: DataFrame) -> DataFrame:
    """The test rows with a column `als`, NaN where the user or the item was never seen in training."""
    als = ALS(
        userCol="user",
        itemCol="item",
        ratingCol="rating",
        rank=8,
        maxIter=10,
        regParam=0.1,
        seed=7,
        # One block each: sums over blocks come in no fixed order, and the last bits would differ from run to run.
        numUserBlocks=1,
        numItemBlocks=1,
        coldStartStrategy="nan",
    )
    return als.setPredictionCol("als").fit(train).transform(test)


def score_with_popularity(train: DataFrame, test: DataFrame) -> DataFrame:
    """The test rows with a column `popularity`, 0 where the item was never seen in training."""
    counts = train.groupBy("item").agg(F.count("*").cast("double").alias("popularity"))
    return test.join(counts, "item", "left").fillna(0.0, "popularity")


def with_slices(train: DataFrame, test: DataFrame) -> DataFrame:
    """The test rows with the columns `user_ratings` and `film_ratings`; `popularity` counts those of the film."""
    known = train.groupBy("user").agg(F.count("*").alias("known"))
    few = {
        "user_ratings": F.coalesce("known", F.lit(0)) < USER_RATINGS,
        "film_ratings": F.col("popularity") < FILM_RATINGS,
    }
    columns = {name: F.when(condition, "few").otherwise("many") for name, condition in few.items()}
    return test.join(known, "user", "left").withColumns(columns)


def fill_cold_starts(scored: DataFrame, rating: float) -> tuple[DataFrame, int]:
    """The same rows with `rating` in place of NaN, and how many were filled."""
    cold = F.isnan("als")
    filled = scored.withColumn("als", F.when(cold, F.lit(rating)).otherwise(F.col("als").cast("double")))
    return filled, scored.where(cold).count()


def write_impressions(scored: DataFrame, folder: str) -> None:
    impressions = scored.select(
        F.col("user").cast("long").alias("user_id"),
        F.col("item").cast("long").alias("item_id"),
        "rating",
        "als",
        "popularity",
        "user_ratings",
        "film_ratings",
    )
    write_rows(impressions, folder)


def write_history(train: DataFrame, folder: str) -> None:
    write_rows(
        train.select(F.col("user").cast("long").alias("user_id"), F.col("item").cast("long").alias("item_id")), folder
    )


def write_rows(rows: DataFrame, folder: str) -> None:
    """One Parquet file in a fixed row order, so two runs write the same rows in the same places."""
    rows.coalesce(1).sortWithinPartitions("user_id", "item_id").write.mode("overwrite").parquet(folder)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Makes the input of the demo: scored impressions from real ratings.")
    parser.add_argument("--date", required=True, type=dt.date.fromisoformat, help="day of the impressions, YYYY-MM-DD")
    parser.add_argument("--output", default="demo/impressions", help="folder that gets dt=<day> (default: %(default)s)")
    parser.add_argument(
        "--history", default="demo/ratings", help="folder that gets training ratings (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    folder = f"{arguments.output.rstrip('/')}/dt={arguments.date}"
    spark = (
        SparkSession.builder.appName("movielens")
        .config("spark.sql.shuffle.partitions", 2)  # 1,501 rows: the default of 200 is mostly waiting
        .getOrCreate()
    )
    try:
        ratings = read_ratings(spark, sample_file()).cache()
        train, test = split_ratings(ratings)
        [(mean_rating,)] = train.agg(F.mean("rating")).collect()
        scored = score_with_als(train, with_slices(train, score_with_popularity(train, test)))
        scored, cold_starts = fill_cold_starts(scored, mean_rating)
        write_impressions(scored, folder)
        write_history(train, arguments.history)
        n_train, n_test = train.count(), test.count()
    finally:
        spark.stop()
    print(f"{n_train + n_test:,} ratings: {n_train:,} to learn from, {n_test:,} held out and scored.")
    print(f"Rows that ALS cannot score: {cold_starts} (they would get the mean training rating, {mean_rating:.2f}).")
    print(f"Impressions are in {folder}, the ratings to learn from in {arguments.history}")


if __name__ == "__main__":
    main()
