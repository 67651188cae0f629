// The panel of costs follows the writes of a command; without a browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const source = readFileSync(new URL("../../src/page/effects.js", import.meta.url));
const { effects } = await import(`data:text/javascript;base64,${source.toString("base64")}`);

const at = (seconds) => new Date(Date.UTC(2026, 10, 22, 14, 0, 0) + seconds * 1_000).toISOString();
const written = (container, lsn) => [{ container, partition: "0", lsn }];
const batch = (name, seconds, container, lsn, more = {}) =>
  ({ function: name, endedAt: at(seconds), written: more.written ?? [], batch: { container, lsn, failed: more.failed ?? 0 } });
const projections = [
  { name: "Names", container: "users" },
  { name: "Copies", container: "posts" },
  { name: "Feed", container: "posts" },
];
const rename = { endedAt: at(10), durationMs: 20, written: written("users", 7) };

const names = batch("Names", 10.5, "users", 8, { written: written("posts", 40) });
const copies = batch("Copies", 11, "posts", 41);
const feed = batch("Feed", 12, "posts", 40);
const early = batch("Feed", 9, "posts", 99);
const behind = batch("Copies", 10.7, "posts", 39);
const failed = batch("Feed", 11.5, "posts", 40, { failed: 1 });

let seen = effects(rename, [early, names, behind, copies, failed], projections);
assert.deepEqual(seen.batches, [names, copies]);
assert.deepEqual(seen.waiting, ["Feed"]);

seen = effects(rename, [early, names, behind, copies, failed, feed], projections);
assert.deepEqual(seen.batches, [names, copies, feed]);
assert.deepEqual([seen.waiting, seen.settledMs], [[], 2_000]);

seen = effects({ ...rename, written: [] }, [names], projections);
assert.deepEqual([seen.batches, seen.waiting], [[], []]);
