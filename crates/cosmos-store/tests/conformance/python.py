"""What azure-cosmos asks of a store: queries, feeds, batches, patches, ReadMany, leases of a change feed.

    python python.py URL

The SDK has neither bulk nor a change feed processor.
"""

import os
import sys
import traceback

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey, exceptions

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
CITIES = ["Lima", "Oslo", "Rome"]
ORDERS = [{"id": f"o{n}", "customer": f"c{n % 8}", "n": n, "city": CITIES[n % 3], "tags": [f"t{n % 2}"]} for n in range(24)]
IDS = sorted(order["id"] for order in ORDERS)

client = CosmosClient(sys.argv[1], KEY)
database = client.create_database(f"python-{os.getpid()}")
CHECKS = []


def check(function):
    CHECKS.append(function)


def create(id, **more):
    """Creates a container with two physical partitions."""
    return database.create_container(id, PartitionKey(path="/customer"), offer_throughput=20_000, **more)


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r}, expected {expected!r}")


def status(operation, *arguments, **more):
    """Returns the status with which an operation is refused."""
    try:
        operation(*arguments, **more)
    except exceptions.CosmosHttpResponseError as error:
        return error.status_code
    return 200


orders = create("orders")
for order in ORDERS:
    orders.create_item(order)


def query(text, **more):
    return list(orders.query_items(text, enable_cross_partition_query=True, **more))


@check
def an_item_with_any_id_is_read_as_it_was_created_and_replaced_under_its_etag():
    for id in ["a b", "ä✓", "a+b%25", "a&b=c"]:
        created = orders.create_item({"id": id, "customer": "any", "title": "Grüße ✓"})
        item = orders.read_item(id, "any")
        equal([item["id"], item["title"], item["_etag"]], [id, "Grüße ✓", created["_etag"]])
        condition = {"etag": item["_etag"], "match_condition": MatchConditions.IfNotModified}
        equal([status(orders.replace_item, id, {**item, "n": n}, **condition) for n in (1, 2)], [200, 412])
        equal(orders.read_item(id, "any")["n"], 1)
        orders.delete_item(id, "any")


@check
def a_query_has_parameters_of_each_type():
    text = "SELECT VALUE c.id FROM c WHERE c.n >= @from AND ARRAY_CONTAINS(@cities, c.city) AND c.customer = @of.customer"
    values = {"@from": 8, "@cities": ["Oslo", "Rome"], "@of": {"customer": "c0"}}
    parameters = [{"name": name, "value": value} for name, value in values.items()]
    equal(query(text, parameters=parameters), ["o8", "o16"])


@check
def partitions_are_merged_for_order_by():
    equal(query("SELECT VALUE c.n FROM c ORDER BY c.n DESC", max_item_count=3), list(range(23, -1, -1)))


@check
def aggregates_are_merged():
    for what, value in {"COUNT(1)": 24, "SUM(c.n)": 276, "AVG(c.n)": 11.5, "MIN(c.city)": "Lima", "MAX(c.n)": 23}.items():
        equal(query(f"SELECT VALUE {what} FROM c"), [value])


@check
def groups_are_made_within_a_partition_key():
    # The SDK merges no groups of several partitions.
    groups = orders.query_items("SELECT c.city, COUNT(1) AS orders FROM c GROUP BY c.city", partition_key="c1")
    equal(sorted(groups, key=lambda group: group["city"]), [{"city": city, "orders": 1} for city in CITIES])


@check
def distinct_offset_and_top_count_over_all_partitions():
    equal(sorted(query("SELECT DISTINCT VALUE c.city FROM c")), CITIES)
    equal(query("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 3"), [5, 6, 7])
    equal(query("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n DESC"), [23, 22])


@check
def a_new_client_continues_behind_each_page():
    found, token = [], None
    while True:
        one = CosmosClient(sys.argv[1], KEY).get_database_client(database.id).get_container_client("orders")
        pages = one.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", partition_key="c3", max_item_count=1).by_page(token)
        found += list(next(pages))
        token = pages.continuation_token
        if not token:
            break
    equal(found, [3, 11, 19])
    pages = orders.query_items("SELECT * FROM c", partition_key="c3").by_page("of another store")
    equal(status(next, pages), 400)


@check
def a_feed_range_has_its_items_alone():
    ranges = list(orders.read_feed_ranges())
    equal(len(ranges), 2)
    parts = [list(orders.query_items("SELECT VALUE c.id FROM c", feed_range=part)) for part in ranges]
    equal(sorted(parts[0] + parts[1]), IDS)
    equal(all(parts), True)


@check
def a_mistake_is_refused():
    equal(status(query, "SELECT * FROM c WHERE"), 400)


@check
def many_items_are_read_at_once():
    wanted = [(order["id"], order["customer"]) for order in ORDERS] + [("missing", "c1")]
    equal([item["id"] for item in orders.read_items(wanted)], [order["id"] for order in ORDERS])


@check
def a_batch_is_all_or_nothing():
    item = {"id": "b1", "customer": "batch"}
    patch = [{"op": "set", "path": "/seen", "value": 1}]
    results = orders.execute_item_batch([("create", (item,)), ("read", ("b1",)), ("patch", ("b1", patch))], "batch")
    equal([result["statusCode"] for result in results], [201, 200, 200])
    try:
        condition = {"if_match_etag": results[0]["eTag"]}
        orders.execute_item_batch([("upsert", ({**item, "id": "b2"},)), ("replace", ("b1", item), condition)], "batch")
        raise AssertionError("an old ETag was taken")
    except exceptions.CosmosBatchOperationError as error:
        equal([one["statusCode"] for one in error.operation_responses], [424, 412])
    equal(status(orders.read_item, "b2", "batch"), 404)


@check
def a_patch_has_a_condition():
    operations = [{"op": "incr", "path": "/n", "value": 0}, {"op": "add", "path": "/tags/0", "value": "first"}]
    patch = ("o1", "c1", operations)
    equal(status(orders.patch_item, *patch, filter_predicate="from c where c.n < 1"), 412)
    equal(orders.patch_item(*patch, filter_predicate="from c where c.n < 2")["tags"], ["first", "t1"])


def changes(container, **start):
    """Returns the changes of a feed, and the continuation behind them."""
    found = list(container.query_items_change_feed(**start))
    return found, container.client_connection.last_response_headers["etag"]


@check
def the_change_feed_begins_where_it_is_asked_to():
    feed = create("feed")
    for order in ORDERS:
        feed.create_item(order)
    nothing, now = changes(feed, start_time="Now")
    equal(nothing, [])
    found, end = changes(feed, start_time="Beginning", max_item_count=5)
    equal(sorted(item["id"] for item in found), IDS)
    parts = [changes(feed, start_time="Beginning", feed_range=part)[0] for part in feed.read_feed_ranges()]
    equal(sorted(item["id"] for part in parts for item in part), IDS)
    equal([item["n"] for item in changes(feed, start_time="Beginning", partition_key="c5")[0]], [5, 13, 21])
    feed.upsert_item({**ORDERS[3], "n": 30})
    feed.delete_item("o4", "c4")
    for continuation in (now, end):
        equal([(item["id"], item["n"]) for item in changes(feed, continuation=continuation)[0]], [("o3", 30)])


@check
def the_feed_of_all_versions_has_each_version_and_delete():
    # This SDK cannot create such a container.
    key = {"paths": ["/customer"], "kind": "Hash", "version": 2}
    definition = {"id": "versions", "partitionKey": key, "changeFeedPolicy": {"retentionDuration": 10}}
    client.client_connection.CreateContainer(database.database_link, definition)
    versions = database.get_container_client("versions")
    _, now = changes(versions, start_time="Now", mode="AllVersionsAndDeletes")
    versions.create_item({"id": "v", "customer": "c", "n": 1})
    versions.upsert_item({"id": "v", "customer": "c", "n": 2})
    versions.delete_item("v", "c")
    found, _ = changes(versions, continuation=now)
    equal([change["metadata"]["operationType"] for change in found], ["create", "replace", "delete"])
    equal([(change.get("current") or {}).get("n") for change in found], [1, 2, None])
    equal(any("previous" in change for change in found), False)


class Lost(Exception):
    """Another host has taken the lease."""


def handle_page(owner, container, leases, n_range, handle):
    """Handles the next changes of a range, under its lease: an item whose ETag decides who may go on."""
    try:
        lease = leases.read_item(f"{n_range}", "app")
    except exceptions.CosmosResourceNotFoundError:
        lease = leases.create_item({"id": f"{n_range}", "customer": "app", "continuation": None})

    def replace(**more):
        try:
            condition = {"etag": lease["_etag"], "match_condition": MatchConditions.IfNotModified}
            return leases.replace_item(lease["id"], {**lease, **more}, **condition)
        except exceptions.CosmosAccessConditionFailedError as error:
            raise Lost from error

    lease = replace(owner=owner)
    start = {"continuation": lease["continuation"]} if lease["continuation"] else {
        "feed_range": list(container.read_feed_ranges())[n_range], "start_time": "Beginning"}
    found, end = changes(container, **start)
    handle(found)
    replace(continuation=end)
    return len(found)


@check
def hosts_share_a_feed_by_leases_and_nothing_is_lost_when_one_takes_over():
    source, leases = create("source"), create("leases")
    for order in ORDERS:
        source.create_item(order)
    seen = []

    def note(found):
        seen.extend(item["id"] for item in found)

    def note_and_lose(found):
        note(found)
        handle_page("b", source, leases, 0, note)

    try:
        handle_page("a", source, leases, 0, note_and_lose)
        raise AssertionError("a stored its continuation though b had the lease")
    except Lost:
        equal(len(seen), 2 * len(set(seen)))

    def finish():
        for owner, n_range in (("b", 0), ("a", 1)):
            while handle_page(owner, source, leases, n_range, note):
                pass

    finish()
    equal(sorted(set(seen)), IDS)
    seen.clear()
    source.upsert_item({**ORDERS[7], "n": 70})
    finish()
    equal(seen, ["o7"])


n_failed = 0
for function in CHECKS:
    name = function.__name__.replace("_", " ")
    try:
        function()
        print(f"ok      python: {name}", flush=True)
    except Exception:
        n_failed += 1
        print(f"FAILED  python: {name}: {traceback.format_exc()}", flush=True)
client.delete_database(database.id)
sys.exit(n_failed > 0)
