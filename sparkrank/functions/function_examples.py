"""The example in the docstring of each metric's function: the value for one list of four rows."""

from __future__ import annotations

# By column: its type in Spark, and its value in each row.
COLUMNS = {
    "score": ("double", (0.9, 0.7, 0.4, 0.2)),
    "label": ("int", (1, 0, 1, 0)),
    "item": ("string", ("tea", "mug", "pot", "tin")),
    "reference_rank": ("int", (2, 4, 3, 1)),
    "propensity": ("double", (0.5, 0.5, 0.25, 0.25)),
}
# The column that a metric needs beside scores and labels.
NEEDED = {
    **dict.fromkeys(("err", "infap", "iprec", "iprec11", "pfound"), "item"),
    **dict.fromkeys(("overlap", "serendipity", "unexpected"), "reference_rank"),
    "value": "propensity",
}
# By name: the value, rounded to six digits; of the first two places where the metric has a cut-off.
VALUES: dict[str, float] = {
    "accuracy": 0.5,
    "ap": 0.5,
    "arhr": 1.0,
    "auc": 0.75,
    "auc_up": 1.0,
    "balanced_accuracy": 0.5,
    "bep": 0.5,
    "bias": 0.05,
    "bpref": 0.75,
    "brier": 0.225,
    "calibration_gap": 0.05,
    "capture": 0.2,
    "cg": 1.0,
    "copc": 0.909091,
    "dcg": 1.0,
    "dsc": 0.125,
    "ece": 0.4,
    "ece_by_mass": 0.4,
    "err": 0.0625,
    "f": 0.5,
    "f1": 0.5,
    "fallout": 0.5,
    "fbeta": 0.5,
    "filled": 1.0,
    "first_rank": 1.0,
    "fitness": 0.896104,
    "fpr": 0.5,
    "gauc": 0.75,
    "group_auc": 0.75,
    "group_mae": 0.4,
    "group_rmse": 0.474342,
    "hit": 1.0,
    "infap": 0.833333,
    "iprec": 1.0,
    "iprec11": 0.848485,
    "judged": 1.0,
    "kendall_distance": 0.166667,
    "kendall_tau": 0.408248,
    "ks": 0.5,
    "lift": 2.0,
    "list_length": 4.0,
    "logloss": 0.612192,
    "mae": 0.4,
    "mcb": 0.1,
    "mcc": 0.0,
    "mce": 0.7,
    "mse": 0.225,
    "n_rel": 2.0,
    "n_rel_ret": 1.0,
    "n_ret": 2.0,
    "ndcg": 0.613147,
    "ne": 0.883206,
    "overlap": 0.5,
    "p": 0.5,
    "pair_auc": 0.75,
    "partial_auc": 0.736842,
    "percentile_rank": 0.25,
    "pfound": 1.0,
    "pr_auc": 0.833333,
    "precision": 0.5,
    "precision_at_recall": 0.666667,
    "r": 0.5,
    "r2": 0.1,
    "rbo": 0.910095,
    "rbp": 0.2,
    "recall": 0.5,
    "recall_at_precision": 0.5,
    "relevance_position": 2.0,
    "rig": 0.116794,
    "rmse": 0.474342,
    "rprec": 0.5,
    "rr": 1.0,
    "serendipity": 0.0,
    "set_ap": 0.5,
    "spearman": 0.447214,
    "specificity": 0.5,
    "tpr": 0.5,
    "tpr_at_fpr": 0.5,
    "unc": 0.25,
    "unexpected": 0.5,
    "unj": 0.0,
    "value": 0.85,
}


def example_of(name: str, has_cutoff: bool) -> list[str]:
    """Return the lines of the example of the function ``name``; [] for a metric from outside of the package."""
    if name not in VALUES:
        return []
    others = [NEEDED[name]] if name in NEEDED else []
    columns = ["score", "label", *others]
    rows = list(zip(*(COLUMNS[column][1] for column in columns), strict=True))
    types = ", ".join(f"{column} {COLUMNS[column][0]}" for column in columns)
    named = [*(f'{column}="{column}"' for column in others), *(["k=2"] if has_cutoff else [])]
    arguments = ", ".join(['"score"', '"label"', *named])
    return [
        "",
        "Examples",
        "--------",
        ">>> from sparkrank import functions as srf",
        ">>> rows = spark.createDataFrame(",
        f'...     {rows}, "{types}"',
        "... )",
        f">>> round(rows.agg(srf.{name}({arguments})).first()[0], 6)",
        str(VALUES[name]),
    ]
