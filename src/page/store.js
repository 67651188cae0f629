// The WebStore: catalog, orders, and names that follow a rename.

import { call, get, read } from "./api.js";
import { action, count, form, h, money, number, pages, path, problem, say, time } from "./dom.js";

const all = async (at) => (await read(`${at}?limit=100`)).items;

const productLink = (product) =>
  h("a", { href: `#/store/categories/${path(product.categoryId)}/products/${path(product.id)}` }, product.name);

function tags(product) {
  return h("ul", { class: "tags", "aria-label": "Tags" }, product.tags.map((tag) =>
    h("li", null, h("a", { href: `#/store/tags/${path(tag.id)}` }, tag.name))));
}

function productRow(product) {
  return h("li", { class: "product" },
    h("h2", null, productLink(product)),
    h("p", { class: "price" }, money(product.price)),
    h("p", { class: "byline" }, `${product.categoryName} · ${product.sku}`),
    product.tags.length > 0 && tags(product));
}

const crumbs = (...links) => h("nav", { class: "crumbs", "aria-label": "Breadcrumbs" },
  h("ol", null, [["#/store", "WebStore"], ...links].map(([href, text]) => h("li", null, h("a", { href }, text)))));

export async function home() {
  const [categories, tagList] = await Promise.all([all("categories"), all("tags")]);
  const links = (items, kind) => items.length === 0
    ? h("p", { class: "empty" }, `There is no ${kind === "tags" ? "tag" : "category"} yet. cargo local --demo brings some.`)
    : h("ul", { class: "tiles" }, items.map((one) => h("li", null, h("a", { href: `#/store/${kind}/${path(one.id)}` }, one.name))));
  return {
    title: "WebStore",
    nodes: [
      h("div", { class: "heading" }, h("h1", null, "WebStore"), h("a", { class: "button", href: "#/store/top" }, "Top customers")),
      h("h2", null, "Categories"), links(categories, "categories"),
      h("h2", null, "Tags"), links(tagList, "tags"),
    ],
  };
}

export async function category({ category: id, refresh }) {
  const at = `categories/${path(id)}`;
  const [{ data: label, etag }, products] = await Promise.all([get(at), read(`${at}/products`)]);
  return {
    title: label.name,
    nodes: [
      crumbs(),
      h("h1", null, label.name),
      pages({
        first: products,
        load: (cursor) => read(`${at}/products?cursor=${encodeURIComponent(cursor)}`),
        row: productRow,
        empty: "No product is in this category.",
        list: "ul",
        className: "products",
      }),
      renamed({ at, label, etag, refresh, products: `${at}/products?limit=100`, nameOf: (product) => product.categoryName }),
    ],
  };
}

/// A tag has no list of its products in the API: this one reads the categories, each one partition.
export async function tag({ tag: id, refresh }) {
  const at = `tags/${path(id)}`;
  const [{ data: label, etag }, categories] = await Promise.all([get(at), all("categories")]);
  const lists = await Promise.all(categories.slice(0, 12).map((one) => all(`categories/${path(one.id)}/products`)));
  const has = (product) => product.tags.some((one) => one.id === id);
  const products = lists.flat().filter(has);
  const first = products[0];
  return {
    title: label.name,
    nodes: [
      crumbs(),
      h("h1", null, label.name),
      products.length === 0 && h("p", { class: "empty" }, "No product has this tag."),
      h("ul", { class: "products" }, products.map(productRow)),
      first && renamed({
        at, label, etag, refresh,
        products: `categories/${path(first.categoryId)}/products?limit=100`,
        nameOf: (product) => product.tags.find((one) => one.id === id)?.name,
      }),
    ],
  };
}

/// A rename, and a look at the copies of the name until all have the new one.
function renamed({ at, label, etag, products, nameOf, refresh }) {
  const progress = h("div", { class: "progress", role: "status" });
  const watch = async (name) => {
    const started = performance.now();
    for (;;) {
      const copies = (await all2(products)).map(nameOf).filter(Boolean);
      const known = copies.filter((one) => one === name).length;
      const seconds = number((performance.now() - started) / 1_000, 1);
      progress.replaceChildren(h("progress", { max: copies.length || 1, value: known, "aria-label": "Products with the new name" }),
        h("p", null, `${known} of ${count(copies.length, "product has", "products have")} the new name after ${seconds} s`));
      if (known === copies.length) return;
      if (performance.now() - started > 20_000) {
        progress.append(h("p", null, "The names are not there yet. The page Operators shows whether a projection is paused."));
        return;
      }
      await new Promise((done) => setTimeout(done, 300));
    }
  };
  const work = async ({ name }) => {
    await call("PUT", at, { body: { name }, headers: etag ? { "if-match": etag } : {} });
    say(`The name is ${name.trim()}`);
    await watch(name.trim());
    setTimeout(refresh, 1_500);
  };
  return h("section", { class: "card" },
    h("h2", null, "Rename"),
    h("p", { class: "hint" }, "Each product has a copy of the name. The change feed brings the new one."),
    form({ label: `Rename ${label.name}`, fields: [{ name: "name", label: "New name", value: label.name, required: true }], submit: "Rename", work }),
    progress);
}

// What any other caller sees: a query of one's own would wait for the copies.
const all2 = async (at) => (await read(at, { own: false })).items;

export async function product({ category: categoryId, product: id }) {
  const at = `categories/${path(categoryId)}/products/${path(id)}`;
  const [product, customers] = await Promise.all([
    read(at),
    read("reports/top-customers?limit=20&source=leaderboard").then((list) => list.items, () => []),
  ]);
  const done = h("div", { role: "status" });
  const who = customers.length > 0
    ? { name: "customer", label: "Customer", options: customers.map((one) => [one.id, `${one.firstName} ${one.lastName}`]) }
    : { name: "customer", label: "Id of the customer", required: true };
  let key = crypto.randomUUID();
  const work = async ({ customer, quantity }) => {
    const body = { items: [{ productId: id, categoryId, quantity: Number(quantity) }] };
    const { data } = await call("POST", `customers/${path(customer)}/orders`, { body, headers: { "idempotency-key": key } });
    key = crypto.randomUUID();
    done.replaceChildren(h("p", { class: "note" }, `Ordered: ${money(data.total)} in all. `,
      h("a", { href: `#/store/customers/${path(customer)}` }, "All orders of the customer")));
  };
  return {
    title: product.name,
    nodes: [
      crumbs([`#/store/categories/${path(categoryId)}`, product.categoryName]),
      h("h1", null, product.name),
      h("p", { class: "price" }, money(product.price)),
      h("p", null, product.description ?? ""),
      h("p", { class: "byline" }, product.sku),
      product.tags.length > 0 && tags(product),
      h("section", { class: "card" },
        h("h2", null, "Order"),
        form({ label: "Order", fields: [who, { name: "quantity", label: "Quantity", type: "number", value: "1", min: 1 }], submit: "Order", work }),
        done),
    ],
  };
}

export async function customer({ customer: id, refresh }) {
  const { customer, orders } = await read(`customers/${path(id)}?include=orders`);
  const row = (order) => h("li", null,
    h("p", { class: "byline" }, time(order.orderDate), ` · ${money(order.total)}`),
    h("ul", null, order.items.map((one) => h("li", null, `${one.quantity} × ${one.name}, ${money(one.price)} each`))),
    action("Take the order back", async () => {
      await call("DELETE", `customers/${path(id)}/orders/${path(order.id)}`);
      say("The order is taken back");
      await refresh();
    }));
  return {
    title: `${customer.firstName} ${customer.lastName}`,
    nodes: [
      crumbs(["#/store/top", "Top customers"]),
      h("h1", null, `${customer.firstName} ${customer.lastName}`),
      h("p", null, count(customer.salesOrderCount, "order", "orders")),
      orders.length === 0 && h("p", { class: "empty" }, "This customer has no order."),
      h("ol", { class: "comments" }, orders.map(row)),
    ],
  };
}

/// The same list by a query in all partitions, and from a projection in one.
export async function top() {
  const ways = [
    ["query", "By a query", "in all logical partitions of the customers"],
    ["leaderboard", "From a projection", "in one logical partition"],
  ];
  const list = async ([source, title, how]) => {
    const own = [h("h2", null, title), h("p", { class: "hint" }, how)];
    try {
      const { data, charge, ms } = await get(`reports/top-customers?limit=10&source=${source}`);
      return h("section", null, own,
        h("p", { class: "figures" }, h("span", null, h("b", null, number(charge)), " RU"), h("span", null, h("b", null, number(ms, 0)), " ms")),
        data.items.length === 0 && h("p", { class: "empty" }, "There is no customer yet."),
        h("ol", { class: "ranking" }, data.items.map((one) => h("li", null,
          h("a", { href: `#/store/customers/${path(one.id)}` }, `${one.firstName} ${one.lastName}`),
          h("span", null, count(one.salesOrderCount, "order", "orders"))))));
    } catch (error) {
      return h("section", null, own, problem(error));
    }
  };
  return {
    title: "Top customers",
    nodes: [crumbs(), h("h1", null, "Top customers"), h("div", { class: "two" }, await Promise.all(ways.map(list)))],
  };
}
