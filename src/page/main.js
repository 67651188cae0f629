// The page: sections by the part of the address behind `#`.

import { functionKey, me } from "./api.js";
import * as blog from "./blog.js";
import { form, h, problem, say } from "./dom.js";

/// The views: a pattern of the address, the section, and what shows it. The sections besides the blog are loaded
/// when they are asked for.
const VIEWS = [
  ["", "blog", blog.feed],
  ["posts/:id", "blog", blog.post],
  ["posts/:id/edit", "blog", blog.edit],
  ["write", "blog", blog.write],
  ["users/:id", "blog", blog.user],
  ["sign-up", "blog", blog.signUp],
  ["key", "", key],
  ...later("store", () => import("./store.js"), {
    "store": "home",
    "store/categories/:category": "category",
    "store/tags/:tag": "tag",
    "store/categories/:category/products/:product": "product",
    "store/customers/:customer": "customer",
    "store/top": "top",
  }),
  ...later("news", () => import("./news.js"), { "news": "list", "news/:key/:id": "item" }),
  ...later("operators", () => import("./operators.js"), { "operators": "home" }),
];

function later(section, module, views) {
  return Object.entries(views).map(([pattern, name]) =>
    [pattern, section, async (parameters) => (await module())[name](parameters)]);
}

const main = document.getElementById("main");
let turn = 0;

function find(address) {
  const parts = address.split("/").filter(Boolean).map(decoded);
  for (const [pattern, section, view] of VIEWS) {
    const wanted = pattern.split("/").filter(Boolean);
    const fits = wanted.length === parts.length && wanted.every((one, n) => one.startsWith(":") || one === parts[n]);
    if (fits) {
      const named = wanted.map((one, n) => [one.slice(1), parts[n]]).filter((_, n) => wanted[n].startsWith(":"));
      return { section, view, parameters: Object.fromEntries(named) };
    }
  }
  return { section: "", view: unknown, parameters: {} };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/// Shows the view of the address. A later address wins over the answer of an earlier one.
async function show({ isRefresh = false } = {}) {
  const own = (turn += 1);
  const [address, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const { section, view, parameters } = find(address);
  for (const link of document.querySelectorAll("[data-section]")) {
    if (link.dataset.section === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.setAttribute("aria-busy", "true");
  try {
    const shown = await view({ ...parameters, query: new URLSearchParams(query), refresh });
    if (own !== turn) return;
    document.title = `${shown.title} · Tributary`;
    main.replaceChildren(...shown.nodes.filter(Boolean));
  } catch (error) {
    if (own !== turn) return;
    document.title = "Tributary";
    main.replaceChildren(h("h1", null, "This cannot be shown"), problem(error, refresh));
  }
  main.setAttribute("aria-busy", "false");
  // The first view leaves the focus where the reader has it; a later one begins at its heading.
  if (own > 1 && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  if (own > 1 && !isRefresh) {
    scrollTo(0, 0);
    say(document.title);
  }
}

const refresh = () => show({ isRefresh: true });

function unknown() {
  return { title: "Not found", nodes: [h("h1", null, "There is nothing here"), h("p", null, h("a", { href: "#/" }, "To the newest posts"))] };
}

function key() {
  const field = {
    name: "key", label: "Function key", type: "password", value: functionKey.get(),
    hint: "The header x-functions-key. It stays in this tab, until you close it.",
  };
  const work = ({ key }) => {
    functionKey.set(key.trim());
    say(key ? "The key is used from now on" : "No key is used from now on");
    history.back();
  };
  return {
    title: "Function key",
    nodes: [
      h("h1", null, "Function key"),
      h("p", null, "In Azure, commands and the pages of operators need a key of the function app. On a laptop, none is needed."),
      form({ label: "Function key", fields: [field], submit: "Use this key", work }),
    ],
  };
}

function showMe() {
  const link = document.getElementById("me");
  const user = me.get();
  link.textContent = user ? user.username : "Sign up";
  link.href = user ? `#/users/${encodeURIComponent(user.id)}` : "#/sign-up";
}

const toggle = document.getElementById("costs-toggle");
const panel = document.getElementById("costs");

async function openCosts(isOpen) {
  toggle.setAttribute("aria-expanded", String(isOpen));
  panel.hidden = !isOpen;
  document.body.classList.toggle("with-costs", isOpen);
  localStorage.setItem("costs", isOpen ? "open" : "closed");
  if (isOpen) (await import("./costs.js")).start(panel, () => { openCosts(false); toggle.focus(); });
}

toggle.addEventListener("click", () => openCosts(panel.hidden));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => show());
addEventListener("me", showMe);
showMe();
show();
if (localStorage.getItem("costs") === "open") openCosts(true);
