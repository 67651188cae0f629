// What a blog does with @azure/cosmos, against the endpoint given as the first argument.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

// The SDK is installed outside of the source tree, where ECMAScript imports do not look.
const require = createRequire(`${process.env.SDK_HOME}/package.json`);
const { ChangeFeedStartFrom, CosmosClient } = require("@azure/cosmos");

const KEY =
  "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
const [endpoint] = process.argv.slice(2);
const client = new CosmosClient({ endpoint, key: KEY });

async function check(what, test) {
  await test();
  console.log(`  @azure/cosmos: ${what}`);
}

async function status(promise) {
  try {
    return (await promise).statusCode;
  } catch (error) {
    return error.code;
  }
}

const { database } = await client.databases.createIfNotExists({ id: "blog-js" });
const { container } = await database.containers.createIfNotExists({
  id: "posts",
  partitionKey: { paths: ["/postId"], version: 2 },
  defaultTtl: -1,
  indexingPolicy: {
    compositeIndexes: [
      [
        { path: "/creationDate", order: "descending" },
        { path: "/id", order: "descending" },
      ],
    ],
  },
});
const post = (id, more) => ({ id, postId: "p1", type: "comment", ...more });

await check("containers keep their properties and are made once", async () => {
  const again = await database.containers.createIfNotExists({
    id: "posts",
    partitionKey: { paths: ["/postId"], version: 2 },
  });
  assert.equal(again.statusCode, 200);
  const { resource } = await container.read();
  assert.equal(resource.defaultTtl, -1);
  assert.deepEqual(resource.partitionKey.paths, ["/postId"]);
});

await check("create and read", async () => {
  const created = await container.items.create({ id: "p1", postId: "p1", type: "post", likes: 0, title: "Grüße ✓" });
  assert.equal(created.statusCode, 201);
  const { resource } = await container.item("p1", "p1").read();
  assert.equal(resource.title, "Grüße ✓");
  assert.equal(resource._etag, created.etag);
  for (const id of ["a b", "ä✓", "a+b%25", "a&b=c"]) {
    await container.items.create({ id, postId: id });
    assert.equal((await container.item(id, id).read()).resource.id, id);
  }
  assert.equal(await status(container.items.create({ id: "p1", postId: "p1" })), 409);
  assert.equal((await container.item("missing", "p1").read()).statusCode, 404);
});

await check("query with parameters, ORDER BY and pages", async () => {
  for (let n = 0; n < 5; n++) {
    await container.items.create(post(`c${n}`, { creationDate: `2026-01-0${1 + (n % 3)}`, n }));
  }
  const query = {
    query:
      "SELECT * FROM c WHERE c.type = @type ORDER BY c.creationDate DESC, c.id DESC",
    parameters: [{ name: "@type", value: "comment" }],
  };
  const pages = container.items.query(query, { partitionKey: "p1", maxItemCount: 2 });
  const ids = [];
  let nPages = 0;
  while (pages.hasMoreResults()) {
    const page = await pages.fetchNext();
    ids.push(...(page.resources ?? []).map((comment) => comment.id));
    nPages += page.resources?.length ? 1 : 0;
  }
  assert.deepEqual(ids, ["c2", "c4", "c1", "c3", "c0"]);
  assert.equal(nPages, 3);
});

await check("query over all partitions", async () => {
  for (let n = 0; n < 8; n++) {
    await container.items.create({ id: `q${n}`, postId: `other-${n}`, type: "post", n });
  }
  const query = "SELECT VALUE c.n FROM c WHERE STARTSWITH(c.id, 'q') ORDER BY c.n";
  const { resources } = await container.items.query(query).fetchAll();
  assert.deepEqual(resources, [0, 1, 2, 3, 4, 5, 6, 7]);
});

await check("replace with ETag", async () => {
  const item = container.item("p1", "p1");
  const { resource, etag } = await item.read();
  const accessCondition = { type: "IfMatch", condition: etag };
  const replaced = await item.replace({ ...resource, likes: 1 }, { accessCondition });
  assert.equal(replaced.resource.likes, 1);
  assert.notEqual(replaced.etag, etag);
  assert.equal(await status(item.replace({ ...resource, likes: 9 }, { accessCondition })), 412);
  assert.equal((await item.read()).resource.likes, 1);
});

await check("batch: all or nothing", async () => {
  const done = await container.items.batch(
    [
      { operationType: "Create", resourceBody: post("b1") },
      { operationType: "Upsert", resourceBody: post("b2") },
    ],
    "p1",
  );
  assert.deepEqual(done.result.map((one) => one.statusCode), [201, 201]);
  const failed = await container.items.batch(
    [
      { operationType: "Create", resourceBody: post("b3") },
      { operationType: "Create", resourceBody: post("b1") },
    ],
    "p1",
  );
  assert.equal(failed.code, 207);
  assert.deepEqual(failed.result.map((one) => one.statusCode), [424, 409]);
  assert.equal((await container.item("b3", "p1").read()).statusCode, 404);
});

await check("patch and delete", async () => {
  const item = container.item("b2", "p1");
  const patched = await item.patch([{ op: "add", path: "/seen", value: true }]);
  assert.equal(patched.resource.seen, true);
  assert.equal((await item.delete()).statusCode, 204);
  assert.equal((await item.read()).statusCode, 404);
});

await check("change feed from the beginning, then from its continuation", async () => {
  const read = async (changeFeedStartFrom) => {
    const feed = container.items.getChangeFeedIterator({ changeFeedStartFrom, maxItemCount: 5 });
    const ids = new Set();
    let token;
    // The SDK asks one physical partition after the other, and answers 304 for one without
    // changes: there are no more when each of them has said so.
    const { resources: ranges } = await container.readPartitionKeyRanges().fetchAll();
    for (let nUnchanged = 0; nUnchanged <= ranges.length; ) {
      const page = await feed.readNext();
      nUnchanged = page.statusCode === 304 ? nUnchanged + 1 : 0;
      page.result.forEach((item) => ids.add(item.id));
      token = page.continuationToken;
    }
    return { ids, token };
  };
  const all = await read(ChangeFeedStartFrom.Beginning());
  for (const id of ["p1", "c0", "b1", "q0", "q7"]) assert.ok(all.ids.has(id), id);
  assert.ok(!all.ids.has("b2"));
  await container.items.upsert({ id: "q7", postId: "other-7", type: "post", n: 70 });
  const later = await read(ChangeFeedStartFrom.Continuation(all.token));
  assert.deepEqual([...later.ids], ["q7"]);
});

await check("a prefix of a hierarchical key reads the items under it alone", async () => {
  const { container: rooms } = await database.containers.createIfNotExists({
    id: "rooms",
    partitionKey: { paths: ["/tenant", "/room"], kind: "MultiHash", version: 2 },
  });
  for (const tenant of ["A", "B"]) {
    for (const room of ["1", "2", "3"]) {
      await rooms.items.create({ id: tenant + room, tenant, room });
    }
  }
  for (const [tenant, ids] of [["A", ["A1", "A2", "A3"]], ["C", []]]) {
    const options = { partitionKey: [tenant] };
    const all = async (query) => (await rooms.items.query(query, options).fetchAll()).resources;
    assert.deepEqual((await all("SELECT VALUE c.id FROM c")).sort(), ids);
    assert.deepEqual(await all("SELECT VALUE c.id FROM c ORDER BY c.id DESC"), [...ids].reverse());
    assert.deepEqual(await all("SELECT VALUE COUNT(1) FROM c"), [ids.length]);
    const { resources } = await rooms.items.readAll(options).fetchAll();
    assert.deepEqual(resources.map((room) => room.id).sort(), ids);
    const feed = rooms.items.getChangeFeedIterator({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning([tenant]),
    });
    const page = await feed.readNext();
    assert.deepEqual((page.result ?? []).map((room) => room.id).sort(), ids);
  }
});

client.dispose();
