"""What a blog does with azure-cosmos, against the endpoint given as the first argument."""

import sys

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import (
    CosmosAccessConditionFailedError,
    CosmosBatchOperationError,
    CosmosResourceExistsError,
    CosmosResourceNotFoundError,
)

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="


def check(what, test):
    test()
    print(f"  azure-cosmos: {what}", flush=True)


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"got {actual!r}, expected {expected!r}")


def fails(error, operation, *args, **kwargs):
    try:
        operation(*args, **kwargs)
    except error as raised:
        return raised
    raise AssertionError(f"{operation.__name__} did not raise {error.__name__}")


client = CosmosClient(sys.argv[1], KEY)
database = client.create_database_if_not_exists("blog-python")
container = database.create_container_if_not_exists(
    "posts",
    PartitionKey(path="/postId"),
    default_ttl=-1,
    indexing_policy={
        "compositeIndexes": [
            [
                {"path": "/creationDate", "order": "descending"},
                {"path": "/id", "order": "descending"},
            ]
        ]
    },
)


def comment(id, **more):
    return {"id": id, "postId": "p1", "type": "comment", **more}


def containers_are_made_once():
    database.create_container_if_not_exists("posts", PartitionKey(path="/postId"))
    properties = container.read()
    equal(properties["defaultTtl"], -1)
    equal(properties["partitionKey"]["paths"], ["/postId"])


def create_and_read():
    created = container.create_item(
        {"id": "p1", "postId": "p1", "type": "post", "likes": 0, "title": "Grüße ✓"}
    )
    read = container.read_item("p1", partition_key="p1")
    equal(read["title"], "Grüße ✓")
    equal(read["_etag"], created["_etag"])
    for id in ["a b", "ä✓", "a+b%25", "a&b=c"]:
        container.create_item({"id": id, "postId": id})
        equal(container.read_item(id, partition_key=id)["id"], id)
    fails(CosmosResourceExistsError, container.create_item, {"id": "p1", "postId": "p1"})
    fails(CosmosResourceNotFoundError, container.read_item, "missing", partition_key="p1")


def query():
    for n in range(5):
        container.create_item(comment(f"c{n}", creationDate=f"2026-01-0{1 + n % 3}", n=n))
    pages = container.query_items(
        "SELECT * FROM c WHERE c.type = @type ORDER BY c.creationDate DESC, c.id DESC",
        parameters=[{"name": "@type", "value": "comment"}],
        partition_key="p1",
        max_item_count=2,
    ).by_page()
    pages = [[item["id"] for item in page] for page in pages]
    equal(pages, [["c2", "c4"], ["c1", "c3"], ["c0"]])


def query_all_partitions():
    for n in range(8):
        container.create_item({"id": f"q{n}", "postId": f"other-{n}", "type": "post", "n": n})
    values = container.query_items(
        "SELECT VALUE c.n FROM c WHERE STARTSWITH(c.id, 'q') ORDER BY c.n",
        enable_cross_partition_query=True,
    )
    equal(list(values), list(range(8)))


def replace_with_etag():
    item = container.read_item("p1", partition_key="p1")
    condition = {"etag": item["_etag"], "match_condition": MatchConditions.IfNotModified}
    replaced = container.replace_item("p1", {**item, "likes": 1}, **condition)
    equal(replaced["likes"], 1)
    fails(
        CosmosAccessConditionFailedError,
        container.replace_item, "p1", {**item, "likes": 9}, **condition,
    )
    equal(container.read_item("p1", partition_key="p1")["likes"], 1)


def batch():
    results = container.execute_item_batch(
        [("create", (comment("b1"),)), ("upsert", (comment("b2"),))], partition_key="p1"
    )
    equal([result["statusCode"] for result in results], [201, 201])
    error = fails(
        CosmosBatchOperationError,
        container.execute_item_batch,
        [("create", (comment("b3"),)), ("create", (comment("b1"),))],
        partition_key="p1",
    )
    equal(error.error_index, 1)
    equal([one["statusCode"] for one in error.operation_responses], [424, 409])
    fails(CosmosResourceNotFoundError, container.read_item, "b3", partition_key="p1")


def patch_and_delete():
    patched = container.patch_item(
        "b2", partition_key="p1", patch_operations=[{"op": "add", "path": "/seen", "value": True}]
    )
    equal(patched["seen"], True)
    container.delete_item("b2", partition_key="p1")
    fails(CosmosResourceNotFoundError, container.read_item, "b2", partition_key="p1")


def change_feed():
    changes = {item["id"] for item in container.query_items_change_feed(start_time="Beginning")}
    missing = {"p1", "c0", "b1", "q0", "q7"} - changes
    equal(missing, set())
    equal("b2" in changes, False)
    token = container.client_connection.last_response_headers["etag"]
    container.upsert_item({"id": "q7", "postId": "other-7", "type": "post", "n": 70})
    later = container.query_items_change_feed(continuation=token)
    equal([item["id"] for item in later], ["q7"])


check("containers keep their properties and are made once", containers_are_made_once)
check("create and read", create_and_read)
check("query with parameters, ORDER BY and pages", query)
check("query over all partitions", query_all_partitions)
check("replace with ETag", replace_with_etag)
check("batch: all or nothing", batch)
check("patch and delete", patch_and_delete)
check("change feed from the beginning, then from its continuation", change_feed)
