// The panel of costs: each request, and after a command the work of the change feed.
//
// The app's endpoint `GET /api/costs` has them, if it records any. Otherwise the panel shows what the answers
// themselves carry.

import { Problem, clockSkew, onRequest, read } from "./api.js";
import { button, count, h, number, problem } from "./dom.js";
import { effects } from "./effects.js";

const NAMES = {
  CreateUser: "C1", PutUser: "C1", GetUser: "Q1", CreatePost: "C2", PutPost: "C2", GetPost: "Q2",
  ListUserPosts: "Q3", CreateComment: "C3", ListComments: "Q4", LikePost: "C4", ListLikes: "Q5", GetFeed: "Q6",
};

/// The pauses between looks for the work of the change feed after a command, and their end, in milliseconds.
const PAUSE_MS = 500;
const PATIENCE_MS = 12_000;
/// The number of requests that the panel shows.
const MOST = 60;

let records = [];
let projections = [];
let last = 0;
let instance;
let isOff = false;
let until = 0;
let timer;
let list;
let state;
let sum;

const pageStart = performance.timeOrigin;

export function start(panel, close) {
  if (list) return look();
  list = h("ol", { class: "requests" });
  state = h("div");
  sum = h("p", { class: "sum" });
  panel.append(
    h("div", { class: "heading" }, h("h2", null, "What it costs"), button("Close", close, { class: "plain" })),
    h("p", { class: "hint" }, "RU are request units: a point read of 1 KB is 1."),
    state, sum, list,
    h("div", { class: "more" }, button("Clear", () => { records = []; draw(); }, { class: "plain" })));
  panel.addEventListener("keydown", (event) => event.key === "Escape" && close());
  onRequest(noteRequest);
  look();
}

function noteRequest({ method, path, status, ms, charge }) {
  if (isOff) {
    const route = `/api/${path.split("?")[0]}`;
    records.push({ sequence: ++last, function: method, request: { method, route, status }, durationMs: ms, requestUnits: charge, partitions: [], physicalPartitions: [], written: [] });
    return draw();
  }
  until = Math.max(until, performance.now() + (method === "GET" ? PAUSE_MS : PATIENCE_MS));
  clearTimeout(timer);
  timer = setTimeout(look, 100);
}

async function look() {
  clearTimeout(timer);
  if (isOff || list.closest("[hidden]")) return;
  try {
    const answer = await read(`costs?after=${last}`, { quiet: true, own: false });
    if (!answer.isRecording) {
      isOff = true;
      state.replaceChildren(h("p", { class: "hint" }, "This app keeps no records of costs (Costs__Recent): here are the charges of this page's own requests."));
      return draw();
    }
    const isNew = instance !== answer.instance;
    if (isNew && instance) records = [];
    instance = answer.instance;
    ({ last, projections } = answer);
    const earliest = pageStart + clockSkew - 2_000;
    records.push(...answer.items.filter((one) => !isNew || Date.parse(one.endedAt) >= earliest));
    state.replaceChildren();
  } catch (error) {
    // Without a key for the records, what the answers carry is there.
    if (error instanceof Problem && error.status === 401) isOff = true;
    state.replaceChildren(problem(error, isOff ? undefined : look));
    if (!isOff) return;
  }
  draw();
  const waits = records.some((one) => one.written.length > 0 && one.request && effects(one, records, projections).waiting.length > 0);
  if (waits && performance.now() < until) timer = setTimeout(look, PAUSE_MS);
}

function draw() {
  const requests = records.filter((one) => one.request).slice(-MOST);
  const charge = (of) => of.reduce((all, one) => all + one.requestUnits, 0);
  sum.textContent = requests.length === 0
    ? "Nothing yet. Open a post, or write one."
    : `${count(requests.length, "request", "requests")}, ${number(charge(requests))} RU; the change feed ${number(charge(records.filter((one) => one.batch)))} RU`;
  list.replaceChildren(...requests.toReversed().map(request));
}

function request(one) {
  const { method, route, status } = one.request;
  const name = NAMES[one.function];
  return h("li", { class: "request" },
    h("p", { class: "line" },
      name && h("abbr", { class: `id ${name[0] === "C" ? "command" : "query"}`, title: one.function }, name),
      h("code", null, `${method} ${route.replace("/api", "")}`),
      status >= 400 && h("strong", { class: "status" }, String(status))),
    figures(one),
    partitions(one),
    one.written.length > 0 && work(one));
}

function figures({ requestUnits, storeRequests, throttled, durationMs, waiting }) {
  const figure = (value, unit) => h("span", null, h("b", null, value), ` ${unit}`);
  return h("p", { class: "figures" },
    figure(number(requestUnits), "RU"),
    storeRequests !== undefined && figure(storeRequests, storeRequests === 1 ? "store request" : "store requests"),
    figure(number(durationMs, 1), "ms"),
    throttled > 0 && figure(throttled, "throttled"),
    waiting && figure(number(waiting.requestUnits), "RU of it to wait for your own writes"));
}

function partitions({ partitions, furtherUses, physicalPartitions }) {
  if (partitions.length === 0) return null;
  const several = partitions.filter((one) => one.key === null).length;
  const logical = several ? "all logical partitions" : count(partitions.length + furtherUses, "logical partition", "logical partitions");
  return h("p", { class: "partitions" },
    `${logical}, ${physicalPartitions.length} physical: `,
    partitions.slice(0, 4).flatMap(({ container, key }, n) => [n ? ", " : "", h("code", null, `${container}/${key ?? "*"}`)]),
    partitions.length > 4 && " …");
}

/// The work of the change feed behind a command.
function work(one) {
  const { batches, waiting, settledMs } = effects(one, records, projections);
  if (batches.length === 0 && waiting.length === 0) return null;
  const isOver = performance.now() >= until;
  return h("div", { class: "work" },
    h("p", null,
      waiting.length === 0 ? ["Every copy was up to date after ", h("b", null, `${number(settledMs / 1_000, 1)} s`)]
      : `${isOver ? "No word from" : "On its way through"} ${waiting.join(", ")}${isOver ? ": nothing to do there, or paused" : " …"}`),
    h("ul", null, [...byProjection(batches)].map(([name, { applied, deadLetters, requestUnits }]) => h("li", null,
      h("span", { class: "projection" }, name),
      ` ${outcome(applied, deadLetters)}, ${number(requestUnits)} RU`))));
}

/// Adds up the batches of each projection: some come in parts.
function byProjection(batches) {
  const sums = new Map();
  for (const { function: name, requestUnits, batch } of batches) {
    const sum = sums.get(name) ?? { applied: 0, deadLetters: 0, requestUnits: 0 };
    sums.set(name, {
      applied: sum.applied + batch.applied,
      deadLetters: sum.deadLetters + batch.deadLetters,
      requestUnits: sum.requestUnits + requestUnits,
    });
  }
  return sums;
}

function outcome(applied, deadLetters) {
  const letters = deadLetters ? `, ${count(deadLetters, "dead letter", "dead letters")}` : "";
  return (applied ? count(applied, "change applied", "changes applied") : "nothing to change") + letters;
}
