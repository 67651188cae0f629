// The news: lists and searches over a hot and a warm container.

import { get, read } from "./api.js";
import { action, count, form, h, path, prose, time } from "./dom.js";

/// The age in days at which the migration moves items, unless a setting says otherwise.
const HOT_DAYS = 30;

function badge(item) {
  const days = (Date.now() - Date.parse(item.publishedDate)) / 86_400_000;
  const tier = days < HOT_DAYS ? "hot" : "warm";
  return h("span", { class: `badge ${tier}`, title: `By its age: items move after ${HOT_DAYS} days` }, tier);
}

function row(item) {
  return h("li", null, h("article", { class: "short" },
    h("h2", null, h("a", { href: `#/news/${path(item.partitionKey, item.id)}` }, item.title)),
    h("p", { class: "byline" }, badge(item), ` ${item.feedProviderId} · `, time(item.publishedDate)),
    h("p", null, item.content.length > 240 ? `${item.content.slice(0, 240)}…` : item.content)));
}

function asked({ headers }) {
  const containers = headers.get("x-containers-queried");
  const partitions = Number(headers.get("x-partitions-queried") ?? 0);
  return containers && h("p", { class: "asked" }, "Asked: ",
    containers.split(",").map((one) => h("span", { class: `badge ${one.trim()}` }, one.trim())),
    ` ${count(partitions, "partition", "partitions")}`);
}

export async function list({ query }) {
  const q = query.get("q") ?? "";
  const provider = query.get("provider") ?? "";
  const days = query.get("days") ?? "30";
  const parameters = new URLSearchParams({ limit: "20", days });
  if (provider) parameters.set("provider", provider);
  if (q) parameters.set("q", q);
  const at = `news/${q ? "search" : "items"}?${parameters}`;
  const filter = form({
    label: "News",
    fields: [
      { name: "q", label: "Search", value: q, type: "search" },
      { name: "provider", label: "Provider", value: provider },
      { name: "days", label: "Window", value: days, options: [["7", "a week"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"]] },
    ],
    submit: "Show",
    work: async (values) => {
      const given = Object.entries(values).filter(([, value]) => value.trim());
      location.hash = `#/news?${new URLSearchParams(given)}`;
    },
  });
  filter.classList.add("filter");
  const heading = h("h1", null, q ? `News with “${q}”` : "Newest news");
  const first = await get(at);
  const items = h("ol", { class: "feed" });
  const more = h("div", { class: "more" });
  const tells = h("div");
  const add = (answer) => {
    tells.replaceChildren(...[asked(answer)].filter(Boolean));
    items.append(...answer.data.items.map(row));
    const { nextCursor } = answer.data;
    more.replaceChildren(...(nextCursor ? [action("Show more", async () =>
      add(await get(`${at}&cursor=${encodeURIComponent(nextCursor)}`)))] : []));
  };
  add(first);
  const isEmpty = first.data.items.length === 0;
  const empty = first.data.nextCursor
    ? "Nothing in the partitions that were asked so far. There are more."
    : "Nothing in this window. A longer one may have some.";
  return { title: "News", nodes: [heading, filter, tells, isEmpty && h("p", { class: "empty" }, empty), items, more] };
}

export async function item({ key, id }) {
  const item = await read(`news/items/${path(key, id)}`);
  const link = /^https?:/.test(item.sourceUrl) && h("a", { href: item.sourceUrl, rel: "noreferrer" }, "Source");
  return {
    title: item.title,
    nodes: [h("article", { class: "post" },
      h("h1", null, item.title),
      h("p", { class: "byline" }, badge(item), ` ${item.feedProviderId} · `, time(item.publishedDate)),
      h("div", { class: "prose" }, prose(item.content)),
      item.tags?.length > 0 && h("ul", { class: "tags", "aria-label": "Tags" }, item.tags.map((tag) => h("li", null, h("span", null, tag)))),
      h("p", { class: "counts" }, "Partition key ", h("code", null, item.partitionKey), link && [" · ", link]))],
  };
}
