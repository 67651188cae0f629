// What @azure/cosmos asks of a store: queries, feeds, batches, bulk, patches, leases of a change feed.
//
//   SDK_HOME=folder node javascript.mjs URL

import assert from "node:assert/strict";
import { createRequire } from "node:module";

// The SDK is installed outside of the source tree, where ECMAScript imports do not look.
const require = createRequire(`${process.env.SDK_HOME}/package.json`);
const { ChangeFeedMode, ChangeFeedStartFrom, CosmosClient } = require("@azure/cosmos");

const key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
const client = new CosmosClient({ endpoint: process.argv[2], key });
const { database } = await client.databases.create({ id: `javascript-${process.pid}` });

/** Creates a container with two physical partitions. */
async function create(id, more = {}) {
  const partitionKey = { paths: ["/customer"], version: 2 };
  return (await database.containers.create({ id, partitionKey, throughput: 20_000, ...more })).container;
}

async function code(promise) {
  try {
    const response = await promise;
    return response.code ?? response.statusCode;
  } catch (error) {
    return error.code;
  }
}

let nFailed = 0;
async function check(what, test) {
  try {
    await test();
    console.log(`ok      javascript: ${what}`);
  } catch (error) {
    nFailed += 1;
    console.log(`FAILED  javascript: ${what}: ${error.stack}`);
  }
}

const CITIES = ["Lima", "Oslo", "Rome"];
const ORDERS = Array.from({ length: 24 }, (_, n) => ({
  id: `o${n}`, customer: `c${n % 8}`, n, city: CITIES[n % 3], tags: [`t${n % 2}`, "all"], ...(n % 4 ? { rank: n % 5 } : {}),
}));
const orders = await create("orders", {
  indexingPolicy: {
    compositeIndexes: [[{ path: "/city", order: "ascending" }, { path: "/n", order: "descending" }]],
  },
});
for (const order of ORDERS) await orders.items.create(order);

const all = async (query, options) => (await orders.items.query(query, options).fetchAll()).resources;
const sorted = (values) => values.map((value) => JSON.stringify(value)).sort();

await check("a container of 20,000 RU/s has two physical partitions", async () => {
  assert.equal((await orders.getFeedRanges()).length, 2);
});

await check("an item with any id is read as it was created, and replaced under its ETag", async () => {
  for (const id of ["a b", "ä✓", "a+b%25", "a&b=c"]) {
    const { item, etag } = await orders.items.create({ id, customer: "any", title: "Grüße ✓" });
    const { resource } = await item.read();
    assert.deepEqual([resource.id, resource.title], [id, "Grüße ✓"]);
    const accessCondition = { type: "IfMatch", condition: etag };
    assert.equal(await code(item.replace({ ...resource, n: 1 }, { accessCondition })), 200);
    assert.equal(await code(item.replace({ ...resource, n: 2 }, { accessCondition })), 412);
    assert.equal((await item.read()).resource.n, 1);
    await item.delete();
  }
});

await check("a prefix of a hierarchical key reads the items under it alone", async () => {
  const partitionKey = { paths: ["/tenant", "/room"], kind: "MultiHash", version: 2 };
  const { container: rooms } = await database.containers.create({ id: "rooms", partitionKey });
  for (const id of ["A1", "A2", "A3", "B1", "B2"]) await rooms.items.create({ id, tenant: id[0], room: id[1] });
  for (const [tenant, ids] of [["A", ["A1", "A2", "A3"]], ["C", []]]) {
    const options = { partitionKey: [tenant] };
    const all = async (query) => (await rooms.items.query(query, options).fetchAll()).resources;
    assert.deepEqual(await all("SELECT VALUE c.id FROM c ORDER BY c.id DESC"), [...ids].reverse());
    assert.deepEqual(await all("SELECT VALUE COUNT(1) FROM c"), [ids.length]);
    const { resources } = await rooms.items.readAll(options).fetchAll();
    assert.deepEqual(resources.map((room) => room.id).sort(), ids);
    const changeFeedStartFrom = ChangeFeedStartFrom.Beginning([tenant]);
    const page = await rooms.items.getChangeFeedIterator({ changeFeedStartFrom }).readNext();
    assert.deepEqual((page.result ?? []).map((room) => room.id).sort(), ids);
  }
});

await check("a query has parameters of each type", async () => {
  const query = (parameters) => ({
    query: "SELECT VALUE c.id FROM c WHERE c.n >= @from AND ARRAY_CONTAINS(@cities, c.city) AND c.customer = @of.customer",
    parameters: Object.entries(parameters).map(([name, value]) => ({ name: `@${name}`, value })),
  });
  assert.deepEqual(await all(query({ from: 8, cities: ["Oslo", "Rome"], of: { customer: "c0" } })), ["o8", "o16"]);
});

await check("partitions are merged for ORDER BY, with one and with two properties", async () => {
  const ids = (await all("SELECT c.id FROM c ORDER BY c.n DESC", { maxItemCount: 3 })).map((one) => one.id);
  assert.deepEqual(ids, ORDERS.map((order) => order.id).reverse());
  const two = await all("SELECT c.city, c.n FROM c ORDER BY c.city ASC, c.n DESC");
  const order = (a, b) => (a.city < b.city ? -1 : a.city > b.city ? 1 : b.n - a.n);
  assert.deepEqual(two, ORDERS.map(({ city, n }) => ({ city, n })).sort(order));
});

await check("aggregates are merged", async () => {
  const sum = ORDERS.reduce((sum, order) => sum + order.n, 0);
  for (const [what, value] of [["COUNT(1)", 24], ["SUM(c.n)", sum], ["AVG(c.n)", sum / 24], ["MIN(c.city)", "Lima"], ["MAX(c.n)", 23]]) {
    assert.deepEqual(await all(`SELECT VALUE ${what} FROM c`), [value], what);
  }
  assert.deepEqual(await all("SELECT VALUE COUNT(1) FROM c WHERE c.n > 100"), [0]);
  const ofOne = "SELECT COUNT(1) AS orders, MAX(c.n) AS last FROM c WHERE c.customer = 'c1'";
  assert.deepEqual(await all(ofOne), [{ orders: 3, last: 17 }]);
});

await check("groups are merged", async () => {
  const groups = await all("SELECT c.city, COUNT(1) AS orders, MAX(c.n) AS last FROM c GROUP BY c.city");
  const wanted = CITIES.map((city, n) => ({ city, orders: 8, last: 21 + n }));
  assert.deepEqual(sorted(groups), sorted(wanted));
});

await check("DISTINCT, OFFSET and TOP count over all partitions", async () => {
  assert.deepEqual((await all("SELECT DISTINCT VALUE c.city FROM c")).sort(), CITIES);
  assert.deepEqual(await all("SELECT DISTINCT VALUE c.city FROM c ORDER BY c.city DESC"), [...CITIES].reverse());
  assert.deepEqual(await all("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 3"), [5, 6, 7]);
  assert.deepEqual(await all("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n DESC"), [23, 22]);
});

await check("JOIN, EXISTS and a subquery see the elements of an array", async () => {
  const tags = "SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags WHERE t = 't1'";
  assert.deepEqual(await all(tags), [12]);
  const some = "SELECT VALUE c.n FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 't0') ORDER BY c.n";
  assert.deepEqual(await all(some), ORDERS.map((order) => order.n).filter((n) => n % 2 === 0));
});

await check("a new client continues behind each page", async () => {
  const query = "SELECT VALUE c.n FROM c ORDER BY c.n";
  const found = [];
  let continuationToken;
  do {
    const pages = orders.items.query(query, { partitionKey: "c3", maxItemCount: 1, continuationToken });
    const page = await pages.fetchNext();
    found.push(...page.resources);
    continuationToken = page.continuationToken;
  } while (continuationToken);
  assert.deepEqual(found, [3, 11, 19]);
  const other = orders.items.query("SELECT * FROM c", { partitionKey: "c3", continuationToken: "of another store" });
  assert.equal(await code(other.fetchNext()), 400);
});

await check("a query of a mistake is refused", async () => {
  assert.equal(await code(orders.items.query("SELECT * FROM c WHERE").fetchAll()), 400);
  assert.equal(await code(orders.items.query("SELECT VALUE NO_SUCH(c.n) FROM c").fetchAll()), 400);
});

await check("a batch is all or nothing, and knows ETags", async () => {
  const item = (id) => ({ id, customer: "batch" });
  const first = await orders.items.batch(
    [
      { operationType: "Create", resourceBody: item("b1") },
      { operationType: "Upsert", resourceBody: item("b2") },
      { operationType: "Read", id: "b1" },
      { operationType: "Patch", id: "b2", resourceBody: { operations: [{ op: "set", path: "/seen", value: 1 }] } },
    ],
    "batch",
  );
  assert.deepEqual(first.result.map((one) => one.statusCode), [201, 201, 200, 200]);
  assert.equal(first.result[3].resourceBody.seen, 1);
  const second = await orders.items.batch(
    [
      { operationType: "Delete", id: "b1" },
      { operationType: "Replace", id: "b2", resourceBody: item("b2"), ifMatch: first.result[1].eTag },
    ],
    "batch",
  );
  assert.deepEqual(second.result.map((one) => one.statusCode), [424, 412]);
  assert.equal((await orders.item("b1", "batch").read()).statusCode, 200);
});

await check("bulk: each operation has a status of its own", async () => {
  const bulk = await create("bulk");
  const creations = Array.from({ length: 250 }, (_, n) => ({
    operationType: "Create", partitionKey: `k${n % 20}`, resourceBody: { id: `i${n}`, customer: `k${n % 20}` },
  }));
  const created = await bulk.items.executeBulkOperations(creations);
  assert.deepEqual(new Set(created.map((one) => one.response?.statusCode)), new Set([201]));
  const mixed = await bulk.items.executeBulkOperations([
    { operationType: "Read", id: "i1", partitionKey: "k1" },
    { operationType: "Delete", id: "i2", partitionKey: "k2" },
    { operationType: "Delete", id: "missing", partitionKey: "k3" },
    creations[4],
    { operationType: "Patch", id: "i5", partitionKey: "k5", resourceBody: { operations: [{ op: "incr", path: "/n", value: 2 }] } },
  ]);
  assert.deepEqual(mixed.map((one) => one.response?.statusCode ?? one.error?.code), [200, 204, 404, 409, 200]);
  assert.deepEqual((await bulk.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll()).resources, [249]);
});

await check("a patch has a condition", async () => {
  const item = orders.item("o1", "c1");
  const patch = (limit) => item.patch({
    condition: `from c where c.n < ${limit}`,
    operations: [{ op: "incr", path: "/n", value: 0 }, { op: "add", path: "/tags/0", value: "first" }],
  });
  assert.equal(await code(patch(1)), 412);
  assert.deepEqual((await patch(2)).resource.tags, ["first", "t1", "all"]);
});

/** Reads a feed until each of `nRanges` says that it has no more. */
async function drain(container, options, nRanges = 2) {
  const feed = container.items.getChangeFeedIterator({ maxItemCount: 7, ...options });
  const changes = [];
  let page;
  for (let nUnchanged = 0; nUnchanged <= nRanges; ) {
    page = await feed.readNext();
    nUnchanged = page.statusCode === 304 ? nUnchanged + 1 : 0;
    changes.push(...page.result);
  }
  return { changes, continuation: page.continuationToken };
}
const ids = (changes) => changes.map((change) => change.id).sort();
const from = (changeFeedStartFrom) => ({ changeFeedStartFrom });

await check("the change feed begins at the beginning, now, for a range, for a key, behind a continuation", async () => {
  const feed = await create("feed");
  for (const order of ORDERS) await feed.items.create(order);
  const wanted = ids(ORDERS);
  const now = await drain(feed, from(ChangeFeedStartFrom.Now()));
  assert.deepEqual(now.changes, []);
  const whole = await drain(feed, from(ChangeFeedStartFrom.Beginning()));
  assert.deepEqual(ids(whole.changes), wanted);
  const [one, other] = await feed.getFeedRanges();
  const parts = [await drain(feed, from(ChangeFeedStartFrom.Beginning(one))), await drain(feed, from(ChangeFeedStartFrom.Beginning(other)))];
  assert.deepEqual(ids(parts.flatMap((part) => part.changes)), wanted);
  assert.ok(parts.every((part) => part.changes.length > 0));
  const ofKey = await drain(feed, from(ChangeFeedStartFrom.Beginning("c5")));
  assert.deepEqual(ofKey.changes.map((change) => change.n), [5, 13, 21]);
  await feed.items.upsert({ ...ORDERS[3], n: 30 });
  await feed.item("o4", "c4").delete();
  for (const { continuation } of [now, whole]) {
    const { changes } = await drain(feed, from(ChangeFeedStartFrom.Continuation(continuation)));
    assert.deepEqual(changes.map((change) => [change.id, change.n]), [["o3", 30]]);
  }
});

await check("the feed of all versions has each version and delete", async () => {
  const versions = await create("versions", { changeFeedPolicy: { retentionDuration: 10 } });
  const mode = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };
  const { continuation } = await drain(versions, { ...mode, ...from(ChangeFeedStartFrom.Now()) });
  await versions.items.create({ id: "v", customer: "c", n: 1 });
  await versions.items.upsert({ id: "v", customer: "c", n: 2 });
  await versions.item("v", "c").delete();
  const { changes } = await drain(versions, { ...mode, ...from(ChangeFeedStartFrom.Continuation(continuation)) });
  assert.deepEqual(changes.map((change) => change.metadata.operationType), ["create", "replace", "delete"]);
  assert.deepEqual(changes.map((change) => change.current?.n), [1, 2, undefined]);
  assert.ok(changes.every((change) => !("previous" in change)));
});

// The SDK has no change feed processor: this is one round of its own, over the pull model. A lease is an item with the
// continuation of a range; its ETag decides who may go on.
async function round(owner, container, leases, range, handle) {
  const lease = leases.item(range.minInclusive || "-", owner.app);
  let { resource, statusCode } = await lease.read();
  if (statusCode === 404) {
    ({ resource } = await leases.items.create({ id: range.minInclusive || "-", customer: owner.app }));
  }
  const condition = { accessCondition: { type: "IfMatch", condition: resource._etag } };
  ({ resource } = await lease.replace({ ...resource, owner: owner.name }, condition));
  const start = resource.continuation
    ? ChangeFeedStartFrom.Continuation(resource.continuation)
    : ChangeFeedStartFrom.Beginning(range);
  const page = await container.items.getChangeFeedIterator({ maxItemCount: 5, ...from(start) }).readNext();
  await handle(page.result);
  const checkpoint = { ...resource, continuation: page.continuationToken };
  const ended = await code(lease.replace(checkpoint, { accessCondition: { type: "IfMatch", condition: resource._etag } }));
  return ended === 412 ? "lost" : page.statusCode === 304 ? "unchanged" : "handled";
}

await check("hosts share a feed by leases: nothing is lost when one takes over", async () => {
  const source = await create("source");
  const leases = await create("leases");
  for (const order of ORDERS) await source.items.create(order);
  const ranges = await source.getFeedRanges();
  const [a, b] = ["a", "b"].map((name) => ({ name, app: "app" }));
  const seen = [];
  const note = (changes) => seen.push(...changes.map((change) => change.id));
  // B takes the lease while A is handling its changes: A may not store its continuation.
  const robbed = await round(a, source, leases, ranges[0], async (changes) => {
    note(changes);
    assert.equal(await round(b, source, leases, ranges[0], note), "handled");
  });
  assert.equal(robbed, "lost");
  assert.equal(seen.length, 2 * new Set(seen).size);
  const finish = async () => {
    for (const [owner, range] of [[b, ranges[0]], [a, ranges[1]]]) {
      while ((await round(owner, source, leases, range, note)) !== "unchanged");
    }
  };
  await finish();
  assert.deepEqual([...new Set(seen)].sort(), ids(ORDERS));
  seen.length = 0;
  await source.items.upsert({ ...ORDERS[7], n: 70 });
  await finish();
  assert.deepEqual(seen, ["o7"]);
});

await database.delete();
client.dispose();
process.exitCode = nFailed ? 1 : 0;
