// For operators: projections, dead letters, and the partitions that have cost most.

import { call, read } from "./api.js";
import { action, confirmed, count, form, h, number, pages, path, problem, say, time } from "./dom.js";

/// A part of the page that may fail alone.
async function part(title, hint, show) {
  const place = h("div");
  const fill = async () => {
    try {
      place.replaceChildren(...[await show(fill)].flat().filter(Boolean));
    } catch (error) {
      place.replaceChildren(problem(error, fill));
    }
  };
  await fill();
  return h("section", null, h("div", { class: "heading" }, h("h2", null, title), action("Refresh", fill, { class: "plain", "aria-label": `Refresh: ${title}` })), h("p", { class: "hint" }, hint), place);
}

export async function home() {
  const parts = await Promise.all([
    part("Projections", "They make the copies from the change feed. A paused one loses nothing: its changes wait.", projections),
    part("Partitions by their share", "Request units of the recent requests and batches of this instance, by logical partition.", heat),
    part("Dead letters", "Changes that could not be applied. A replay applies the newest state.", letters),
  ]);
  return { title: "Operators", nodes: [h("h1", null, "Operators"), ...parts] };
}

async function projections(refresh) {
  const { items } = await read("projections");
  if (items.length === 0) return h("p", { class: "empty" }, "The app has no projection.");
  return h("ul", { class: "projections" }, items.map((one) => projection(one, refresh)));
}

function projection(one, refresh) {
  const at = `projections/${path(one.name)}`;
  const send = (what, said, body = {}) => async () => {
    await call("POST", `${at}/${what}`, { body });
    say(`${one.name}: ${said}`);
    await refresh();
  };
  const isRebuilding = one.rebuild && ["sources", "audit"].includes(one.rebuild.step);
  const pause = h("details", null, h("summary", null, "Pause"), form({
    label: `Pause ${one.name}`,
    fields: [{ name: "reason", label: "Reason", hint: "Other operators see it." }],
    submit: `Pause ${one.name}`,
    work: async ({ reason }) => send("pause", "paused", reason.trim() ? { reason: reason.trim() } : {})(),
  }));
  return h("li", { class: "projection-state" },
    h("h3", null, one.name, " ", h("span", { class: `badge ${one.status}` }, one.status)),
    h("p", { class: "byline" }, `reads ${one.container} · `, lag(one.lag)),
    one.pause && h("p", null, "Paused ", time(one.pause.since), one.pause.reason && `: ${one.pause.reason}`),
    one.rebuild && h("p", null, rebuild(one.rebuild)),
    h("div", { class: "bar" },
      one.status === "paused" ? action("Resume", send("resume", "resumed"), { "aria-label": `Resume ${one.name}` }) : pause,
      isRebuilding
        ? action("Cancel the rebuild", send("cancel-rebuild", "the rebuild is cancelled"))
        : confirmed("Rebuild", `Rebuild ${one.name}? It reads all of ${one.container}.`, send("rebuild", "the rebuild has begun"))));
}

function lag(lag) {
  if (!lag) return "lag unknown";
  const changes = lag.changes ?? 0;
  return changes === 0 ? "up to date" : `${count(changes, "change waits", "changes wait")}, ${number(lag.seconds ?? 0, 0)} s behind`;
}

function rebuild({ step, progress, endedAt }) {
  const words = { sources: "Rebuild: reads its sources", audit: "Rebuild: audits", done: "Rebuilt", cancelled: "Rebuild cancelled" };
  const read = progress?.read !== undefined ? `, ${count(progress.read, "item", "items")} read` : "";
  return [words[step] ?? step, read, endedAt && [", ", time(endedAt)]];
}

async function letters(refresh) {
  const first = await read("dead-letters?limit=10");
  const row = (one) => h("li", { class: "comment" },
    h("p", { class: "byline" }, `${one.function} · ${one.container}/${one.documentId ?? "?"} · `, time(one.failedAt)),
    h("p", null, one.reason),
    h("div", { class: "bar" },
      action("Replay", async () => {
        const { data } = await call("POST", `dead-letters/${path(one.id)}/replay`);
        say(`Replayed: ${data.outcome}`);
        await refresh();
      }, { "aria-label": `Replay the dead letter of ${one.documentId}` }),
      confirmed("Delete", "Delete this dead letter? Its change stays unapplied.", async () => {
        await call("DELETE", `dead-letters/${path(one.id)}`);
        await refresh();
      })));
  return pages({
    first, row, empty: "None: each change was applied.", className: "comments",
    load: (cursor) => read(`dead-letters?limit=10&cursor=${encodeURIComponent(cursor)}`),
  });
}

/// The shares of logical partitions, each as a cell whose colour is its share.
async function heat() {
  const { items, isRecording } = await read("costs?after=0", { quiet: true, own: false });
  if (!isRecording) return h("p", { class: "empty" }, "This app keeps no records of costs. The setting Costs__Recent turns them on.");
  const containers = new Map();
  for (const { container, key, requestUnits } of items.flatMap((one) => one.partitions)) {
    const keys = containers.get(container) ?? new Map();
    containers.set(container, keys.set(key ?? "several partitions", (keys.get(key ?? "several partitions") ?? 0) + requestUnits));
  }
  if (containers.size === 0) return h("p", { class: "empty" }, "Nothing was asked yet.");
  return [...containers].sort().map(([container, keys]) => {
    const all = [...keys.values()].reduce((sum, one) => sum + one, 0) || 1;
    const hottest = [...keys].sort(([, one], [, other]) => other - one);
    return h("div", { class: "heat" },
      h("h3", null, container, h("span", { class: "hint" }, ` ${number(all)} RU in ${count(keys.size, "partition", "partitions")}`)),
      h("ol", null, hottest.slice(0, 24).map(([key, units]) => {
        const share = units / all;
        const step = Math.min(5, Math.ceil(Math.sqrt(share) * 5));
        return h("li", { class: `step-${step}` }, h("span", null, key), h("b", null, `${number(share * 100, 0)} %`));
      })));
  });
}
