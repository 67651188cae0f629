"""The queries of the log alerts, run on rows: which rows raise an alert, and which do not.

Azure runs Kusto and nothing here does, so duckdb-kql translates the queries for DuckDB. Each query
needs a case that raises its alert and a case that does not.
"""

import json
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb_kql

MODULE = Path("infra/modules/log-alerts.bicep")
RULE = re.compile(r"key: '([^']+)', query: loadTextContent\('([^']+)'\), measure: '([^']+)', by: '([^']*)', threshold: ([0-9 *]+),")
TYPES = {"datetime": "TIMESTAMP", "string": "VARCHAR", "int": "INTEGER", "real": "DOUBLE", "dynamic": "JSON"}

# DuckDB has no row_number() that begins anew with each container: the source of the store is left out.
LEFT_OUT = {"partition-key-skew": re.compile(r"    \(CDBPartitionKeyRUConsumption.*?\),\n(?=    \()", re.DOTALL)}

NOW = datetime.now(timezone.utc).replace(tzinfo=None)


def minutes_ago(minutes):
    return NOW - timedelta(minutes=minutes)


def line(minutes, message, **fields):
    """A line of the handler, as the host takes it from stdout."""
    return text(minutes, json.dumps({"message": message, **{name.replace("__", "."): value for name, value in fields.items()}}))


def answered(minutes, function, status, method="POST", requests=1):
    return line(minutes, "Answered a request", function=function, status=status, method=method, store__requests=requests)


def applied(minutes, function, applied=1, lag_ms=900, failed=0, dead_letters=0):
    counts = {"delivered": 1, "applied": applied, "failed": failed, "dead_letters": dead_letters}
    return line(minutes, "Applied a batch of changes", function=function, lag_ms=lag_ms, **counts)


def refused(minutes, function, paused_minutes):
    return line(minutes, "Refused a batch of changes: the projection is paused", function=function, paused_ms=paused_minutes * 60_000)


def lag(minutes, function, waiting_s=0, stopped=0, is_paused=False):
    counts = {"waiting_s": waiting_s, "stopped_leases": stopped, "is_paused": is_paused}
    return line(minutes, "Measured the lag of a projection", projection=function, **counts)


def measured(minutes, container, units, hottest, key="a", partitions=12, gini=0.2, queries=0, crossing=0):
    counts = {"partitions": partitions, "partitions__gini": gini, "store__queries": queries, "store__cross_partition_queries": crossing}
    hot = {"partitions__hottest": key, "partitions__hottest_ru": hottest, "request_charge_ru": units}
    return line(minutes, "Measured the use of logical partitions", container=container, **counts, **hot)


def migrated(minutes, lag_seconds=0):
    return line(minutes, "Migrated feed items to the warm container", news__lag_seconds=lag_seconds, news__failed=0)


def text(minutes, message):
    return "AppTraces", {"TimeGenerated": minutes_ago(minutes), "Message": message}


def charge(minutes, container, key, units=1.0, operation="Replace", partition="0"):
    row = {"CollectionName": container, "DatabaseName": "tributary", "OperationName": operation, "RequestCharge": units}
    where = {"PartitionKey": f'["{key}"]', "PartitionKeyRangeId": partition}
    return "CDBPartitionKeyRUConsumption", {"TimeGenerated": minutes_ago(minutes), **row, **where}


def lease(minutes, prefix, partition):
    key = f"{prefix}cosmos-x.documents.azure.com_AbC==_AbCd=..{partition}"
    return charge(minutes, "leases", key, 12.5)


def size(gb):
    row = {"CollectionName": "posts", "DatabaseName": "tributary", "PartitionKey": '["p1"]', "SizeKb": gb * 1024 * 1024}
    return "CDBPartitionKeyStatistics", {"TimeGenerated": minutes_ago(9), **row}


def query(activity, *partitions):
    return [("CDBQueryRuntimeStatistics", {"ActivityId": activity, "PartitionKeyRangeId": one}) for one in partitions]


POSTS = ["HomeFeed", "PostCopiesInUsers", "PostsIntegrity"]
PREFIXES = ["home-feed-", "post-copies-in-users-", "posts-integrity-"]
WRITES = [answered(minutes, "CreatePost", 201) for minutes in (60, 45, 30, 20)]
BATCHES = [applied(minutes - 0.1, function) for minutes in (60, 45, 30, 20) for function in [*POSTS, "UsernamesInPosts"]]
UNREADABLE = "Lease 0 encountered an unhandled user exception during processing."
NOT_STARTED = "The listener for function 'Functions.HomeFeed' was unable to start."
KEYS = [charge(20, "posts", f"p{key}", 1000) for key in range(300)]

# The alert, what happened, the rows, and the values of the rule's dimension that raise it; [""] where
# it has none.
CASES = [
    ("change-feed-lag", "a batch is late", [applied(3, "HomeFeed", lag_ms=70_000)], ["HomeFeed"]),
    ("change-feed-lag", "a batch is in time", [applied(3, "HomeFeed")], []),
    ("change-feed-lag", "a line of the answer's Logs is no batch", [text(3, "INFO Applied a batch of changes lag_ms=70000")], []),
    ("change-feed-silent", "every projection follows", [*WRITES, *BATCHES], []),
    ("change-feed-silent", "no writes", BATCHES, []),
    ("change-feed-silent", "no projection has run", WRITES, POSTS),
    (
        "change-feed-silent",
        "one function stands still beside the others",
        [*WRITES, *[row for row in BATCHES if "PostsIntegrity" not in row[1]["Message"]]],
        ["PostsIntegrity"],
    ),
    (
        "change-feed-silent",
        "the function of another container stands still: it gets no copies",
        [*WRITES, *[row for row in BATCHES if "UsernamesInPosts" not in row[1]["Message"]]],
        ["UsernamesInPosts"],
    ),
    (
        "change-feed-silent",
        "one function stops after its first batch",
        [*WRITES, *[row for row in BATCHES if "HomeFeed" not in row[1]["Message"]], applied(59, "HomeFeed")],
        ["HomeFeed"],
    ),
    (
        "change-feed-silent",
        "the line of a request comes after the batch that its write caused",
        [*[answered(20, "LikePost", 201)] * 9, *[applied(20.5, function) for function in POSTS]],
        [],
    ),
    ("change-feed-silent", "a batch that fails is a batch", [*WRITES, *BATCHES, applied(1, "HomeFeed", applied=0, failed=1)], []),
    (
        "change-feed-silent",
        "a paused projection refuses its batch",
        [*WRITES, *[row for row in BATCHES if "HomeFeed" not in row[1]["Message"]], refused(0, "HomeFeed", 90)],
        [],
    ),
    ("change-feed-silent", "writes of the last minutes are on their way", [answered(5, "LikePost", 201)] * 9, []),
    ("change-feed-silent", "refused commands write nothing", [answered(60, "CreatePost", 409)] * 9, []),
    ("change-feed-silent", "a repeated command answers 201 and writes nothing", [answered(60, "CreateComment", 201)] * 2, []),
    ("trigger-failing", "a page cannot be read", [text(3, UNREADABLE)] * 5, ["lease 0"]),
    ("trigger-failing", "a listener does not start", [text(3, NOT_STARTED)] * 5, ["HomeFeed"]),
    ("trigger-failing", "a listener starts at the second attempt", [text(3, NOT_STARTED)], []),
    ("trigger-failing", "a lease moves to another instance", [text(3, "Lease 0 was lost. This is expected during scaling")] * 9, []),
    ("host-rewrites-dates", "the handler notices it", [line(3, "The Functions host rewrites dates, so a text of a user can stop the change feed.")], [""]),
    ("host-rewrites-dates", "no such host", [applied(3, "HomeFeed")], []),
    (
        "handler-crashing",
        "the third crash",
        [text(3, "Exceeded http worker restart retry count. Shutting down Functions Host")],
        [""],
    ),
    ("handler-crashing", "no crash", [answered(3, "GetPost", 200)], []),
    (
        "lease-age",
        "every lease is renewed",
        [charge(minutes, "posts", "p1") for minutes in (60, 30, 5)] + [lease(minutes, prefix, "0") for minutes in (61, 31, 1) for prefix in PREFIXES],
        [],
    ),
    (
        "lease-age",
        "no instance has the lease of one partition of one function",
        [charge(minutes, "posts", "p1", partition=partition) for minutes in (60, 30, 5) for partition in "01"]
        + [lease(1, prefix, partition) for prefix in PREFIXES for partition in "01" if (prefix, partition) != ("home-feed-", "1")]
        + [lease(65, "home-feed-", "1")],
        ["HomeFeed/1"],
    ),
    ("lease-age", "leases rest without writes", [charge(90, "posts", "p1"), lease(80, "home-feed-", "0")], []),
    ("lease-age", "the app wakes up", [charge(3, "posts", "p1"), lease(80, "home-feed-", "0")], []),
    ("lease-age", "reads do not wait for anybody", [charge(60, "posts", "p1", operation="Read"), lease(80, "home-feed-", "0")], []),
    ("lease-age", "a partition was split", [lease(200, "home-feed-", "0"), lease(1, "home-feed-", "1"), charge(60, "posts", "p1", partition="1"), lease(59, "home-feed-", "1")], []),
    ("lease-stopped", "a lease has stopped", [lag(8, "HomeFeed"), lag(3, "HomeFeed", 400, stopped=1)], ["HomeFeed"]),
    ("lease-stopped", "changes wait, and the lease moves", [lag(3, "HomeFeed", 400)], []),
    ("changes-waiting", "a change has waited for 11 minutes", [lag(3, "HomeFeed", 660), lag(3, "PostCopiesInUsers", 5)], ["HomeFeed"]),
    ("changes-waiting", "the projection is paused", [lag(3, "HomeFeed", 660, is_paused=True)], []),
    ("projection-paused", "for more than a day", [refused(3, "HomeFeed", 25 * 60)], ["HomeFeed"]),
    ("projection-paused", "for some hours", [refused(3, "HomeFeed", 5 * 60)], []),
    ("projection-failing", "a batch fails", [applied(3, "HomeFeed", failed=1)], ["HomeFeed"]),
    ("projection-failing", "a batch succeeds", [applied(3, "HomeFeed")], []),
    ("dead-letters", "a change is a dead letter", [applied(3, "HomeFeed", dead_letters=1)], ["HomeFeed"]),
    ("dead-letters", "no dead letter", [applied(3, "HomeFeed")], []),
    ("migration-lag", "an item has waited for 25 hours", [migrated(9, 25 * 3600), migrated(24, 24 * 3600)], [""]),
    ("migration-lag", "an item has waited for an hour", [migrated(9, 3600)], []),
    ("migration-silent", "the last run is 70 minutes old", [migrated(85), migrated(70), answered(5, "GetPost", 200)], [""]),
    ("migration-silent", "no run, and requests for two hours", [answered(120, "GetPost", 200), answered(5, "GetPost", 200)], [""]),
    ("migration-silent", "a run every 15 minutes", [migrated(24), migrated(9), answered(200, "GetPost", 200)], []),
    ("migration-silent", "an app that has just started", [answered(5, "GetPost", 200)], []),
    ("migration-silent", "an idle app", [], []),
    ("hot-partition", "one post takes all", [*KEYS[:3], charge(9, "posts", "hot", 200_000)], ["posts"]),
    ("hot-partition", "the handler sees one post that takes all", [measured(minutes, "posts", 10_000, 9_000) for minutes in range(1, 25)], ["posts"]),
    ("hot-partition", "each minute has another hot post", [measured(minutes, "posts", 10_000, 9_000, f"p{minutes}") for minutes in range(1, 25)], []),
    ("hot-partition", "the handler has few requests", [measured(minutes, "posts", 1_000, 1_000) for minutes in range(1, 25)], []),
    ("hot-partition", "a container of one partition by design", [measured(minutes, "feed", 10_000, 10_000, partitions=1) for minutes in range(1, 25)], []),
    ("hot-partition", "the load is spread", KEYS, []),
    ("hot-partition", "few requests", [charge(9, "posts", "p1", 3), charge(9, "posts", "p2", 100)], []),
    ("partition-key-skew", "a few posts take most in each minute", [measured(minutes, "posts", 10_000, 5_000, gini=0.8) for minutes in range(1, 25)], ["posts"]),
    ("partition-key-skew", "the load is spread", [measured(minutes, "posts", 10_000, 500) for minutes in range(1, 25)], []),
    ("partition-key-skew", "few requests", [measured(minutes, "posts", 1_000, 500, gini=0.8) for minutes in range(1, 25)], []),
    ("partition-key-skew", "few busy minutes", [measured(minutes, "posts", 10_000, 5_000, gini=0.8) for minutes in range(1, 9)], []),
    ("partition-key-skew", "few partitions", [measured(minutes, "posts", 10_000, 5_000, partitions=3, gini=0.8) for minutes in range(1, 25)], []),
    ("logical-partition-14-gb", "14.5 GB", [size(14.5)], ["tributary/posts"]),
    ("logical-partition-14-gb", "13 GB", [size(13)], []),
    ("logical-partition-15-gb", "16 GB", [size(16)], ["tributary/posts"]),
    ("logical-partition-15-gb", "14.5 GB", [size(14.5)], []),
    ("cross-partition-share", "most queries ask two partitions", [row for n in range(30) for row in query(n, "0", "1")], ["store"]),
    ("cross-partition-share", "most queries of the handler name no key", [measured(9, "posts", 90, 1, queries=30, crossing=20)], ["handler/posts"]),
    ("cross-partition-share", "most queries of the handler name a key", [measured(9, "posts", 90, 1, queries=30, crossing=10)], []),
    ("cross-partition-share", "few queries", [measured(9, "posts", 90, 1, queries=9, crossing=9)], []),
]


def main() -> int:
    tables = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
    rules = {match[1]: match for match in RULE.finditer(MODULE.read_text(encoding="utf-8"))}
    complaints = [f"{key} is no alert of {MODULE}" for key, *_ in CASES if key not in rules]
    for key in rules:
        raised = [bool(expected) for one, _, _, expected in CASES if one == key]
        if True not in raised or False not in raised:
            complaints.append(f"{key} needs a case that raises it and one that does not")
    for key, story, rows, expected in CASES:
        if key in rules and (actual := raised_by(rules[key], tables, rows)) != sorted(expected):
            complaints.append(f"{key}, {story}: raised for {actual}, expected {sorted(expected)}")
    for complaint in complaints:
        print(complaint)
    print(f"kql rows: {len(CASES)} cases of {len(rules)} alerts, in part: {', '.join(LEFT_OUT)}; {len(complaints)} findings")
    return 1 if complaints else 0


def raised_by(rule, tables, rows):
    """The values of the dimension for which the measure is above the threshold."""
    key, path, measure, by, threshold = rule.groups()
    query = (MODULE.parent / path).read_text(encoding="utf-8")
    if key in LEFT_OUT:
        query, count = LEFT_OUT[key].subn("", query)
        assert count == 1, f"{path} has no source of the store to leave out"
    connection = duckdb_kql.connect()
    connection.sql("SET TimeZone = 'UTC'")
    for name, columns in tables.items():
        typed = ", ".join(f"{column} {TYPES[kind]}" for column, kind in columns.items())
        connection.sql(f"CREATE TABLE {name} ({typed})")
    for table, row in rows:
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", list(row.values()))
    result = duckdb_kql.query(connection, query)
    names = [column[0] for column in result.description]
    limit = 1
    for factor in threshold.split("*"):
        limit *= int(factor)
    found = [dict(zip(names, values)) for values in result.fetchall()]
    return sorted({one[by] if by else "" for one in found if one[measure] > limit})


if __name__ == "__main__":
    sys.exit(main())
