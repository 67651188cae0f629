// The stories of the web page, in a real browser against a real `cargo local --demo`: each is a sentence.

import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const { PAGE_URL, PAGE_PICTURES, PAGE_TOOLS, CHROMIUM } = process.env;
const require = createRequire(join(PAGE_TOOLS, "package.json"));
const { chromium } = require("playwright-core");
const AXE = require("axe-core").source;

/// Debian's Chromium as root, without a call to any other host.
const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const DESKTOP = { width: 1360, height: 900 };
const PHONE = { width: 390, height: 844 };

let context;
const profile = mkdtempSync(join(tmpdir(), "page-"));
const faults = [];

before(async () => {
  context = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, headless: true, args: ARGUMENTS, viewport: DESKTOP });
  context.setDefaultTimeout(15_000);
});

after(async () => {
  await context?.close();
  rmSync(profile, { recursive: true, force: true });
});

/// Runs a story in a tab of its own, signed in as nobody. What the browser reports as an error fails the story.
function story(sentence, tell) {
  test(sentence, async () => {
    const page = await context.newPage();
    const foreign = [];
    page.on("pageerror", (error) => faults.push(`${sentence}: ${error}`));
    page.on("console", (line) => line.type() === "error" && !/status of 4\d\d/.test(line.text()) && faults.push(`${sentence}: ${line.text()}`));
    page.on("request", (request) => request.url().startsWith(PAGE_URL) || foreign.push(request.url()));
    try {
      await open(page, "#/");
      await page.evaluate(() => { localStorage.clear(); sessionStorage.clear(); });
      await page.reload();
      await shown(page);
      await tell(page);
      assert.deepEqual(foreign, [], "nothing comes from another host");
      assert.deepEqual(faults.splice(0), []);
    } finally {
      await page.close();
    }
  });
}

async function open(page, address) {
  await page.goto(`${PAGE_URL}/${address}`);
  await shown(page);
}

const shown = (page) => page.locator("main[aria-busy=false]").waitFor();

const heading = async (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();

async function fill(page, fields) {
  for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
}

const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

const NAMES = ["Nell", "Omar", "Iris", "Tove"];
let users = 0;

/// A name of nobody else: a picture has a plain one, from an app that was just started.
function freshName() {
  const name = NAMES[users % NAMES.length];
  users += 1;
  return PAGE_PICTURES ? name : `${name} ${process.pid}`;
}

async function signUp(page, name = freshName()) {
  await page.getByRole("link", { name: "Sign up", exact: true }).first().click();
  await heading(page, "Sign up");
  await fill(page, { "Your name": name });
  await press(page, "Sign up");
  await page.locator("#me", { hasText: name }).waitFor();
  return name;
}

async function publish(page, title, text) {
  await open(page, "#/write");
  await fill(page, { Title: title, Text: text });
  await press(page, "Publish");
  await heading(page, title);
}

async function comment(page, text) {
  await fill(page, { "Your comment": text });
  await press(page, "Comment");
  await page.locator(".comment", { hasText: text }).waitFor();
}

/// axe-core finds nothing in what is shown.
async function isAccessible(page, where) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  const found = violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join("; ")}`);
  assert.deepEqual(found, [], where);
}

/// Keeps a picture for the documents, if they are asked for.
async function picture(page, name, { width = 1280, height = 800, scheme = "light" } = {}) {
  if (!PAGE_PICTURES) return;
  mkdirSync(PAGE_PICTURES, { recursive: true });
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme });
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(PAGE_PICTURES, `${name}.png`) });
  await page.setViewportSize(DESKTOP);
  await page.emulateMedia({ colorScheme: null });
}

story("the first view of the newest posts takes one request of the API", async (page) => {
  const asked = [];
  page.on("request", (request) => request.url().includes("/api/") && asked.push(request.url()));
  await page.reload();
  await page.locator(".feed article").first().waitFor();
  await page.waitForTimeout(500);
  assert.equal(asked.length, 1, asked.join());
  assert.equal(await page.locator(".feed > li").count(), 20);
});

story("the page has a strict policy, is kept under its version, and is under 100 KB", async (page) => {
  const index = await page.request.get(`${PAGE_URL}/`);
  const headers = index.headers();
  assert.match(headers["content-security-policy"], /^default-src 'none'; script-src 'self'; style-src 'self';/);
  const again = await page.request.get(`${PAGE_URL}/`, { headers: { "if-none-match": headers.etag } });
  assert.equal(again.status(), 304);
  const [, version] = /page\/([0-9a-f]{16})\/main\.js/.exec(await index.text());
  let bytes = 0;
  for (const name of ["style.css", "main.js", "api.js", "dom.js", "blog.js", "store.js", "news.js", "operators.js", "costs.js", "effects.js", "icon.svg"]) {
    const file = await page.request.get(`${PAGE_URL}/page/${version}/${name}`, { headers: { "accept-encoding": "gzip" } });
    assert.equal(file.status(), 200, name);
    assert.match(file.headers()["cache-control"], /immutable/);
    assert.equal(file.headers()["content-encoding"], "gzip");
    bytes += Number(file.headers()["content-length"]);
  }
  assert.ok(bytes > 5_000 && bytes < 100_000, `${bytes} bytes`);
  // A text can become neither markup nor code.
  const refused = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<p>";
      return false;
    } catch {
      return true;
    }
  });
  faults.length = 0;
  assert.ok(refused);
});

story("a reader signs up, writes, comments, likes twice, and has one like", async (page) => {
  const name = await signUp(page);
  await publish(page, "Small streams", "They feed the river.\n\n<b>No markup</b> & no code.");
  await page.getByText("<b>No markup</b> & no code.").waitFor();
  await comment(page, "And the river?");
  await page.getByRole("heading", { name: "1 comment" }).waitFor();
  // A second tab that does not know of the first one's like.
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByRole("button", { name: "Like", exact: true }).waitFor();
  await press(page, "Like");
  await page.getByText(`1 like: ${name}`).waitFor();
  await press(other, "Like");
  await other.getByText(`1 like: ${name}`).waitFor();
  await other.close();
  await page.getByRole("button", { name: "Liked", pressed: true }).waitFor();
  await picture(page, "page-post");
  // The feed has it at once.
  await page.getByRole("link", { name: "Blog" }).click();
  const first = page.locator(".feed article").first();
  await first.getByRole("link", { name: "Small streams" }).waitFor();
  await first.getByText("1 comment · 1 like").waitFor();
});

story("a new name reaches an old comment and the feed, and the panel shows what carried it", async (page) => {
  const name = await signUp(page);
  await press(page, "Costs");
  const panel = page.getByRole("complementary", { name: "What it costs" });
  await publish(page, "Notes on renaming", "The old name is in many places.");
  await comment(page, "One of the places.");
  const post = page.url();
  await page.getByRole("link", { name: name, exact: true }).first().click();
  await heading(page, name);
  await page.getByText("This is you").click();
  await fill(page, { "Another name": `${name} B.` });
  await press(page, "Rename");
  await heading(page, `${name} B.`);
  await page.goto(post);
  await page.locator(".comment", { hasText: `${name} B.` }).waitFor();
  await page.getByRole("link", { name: "Blog" }).click();
  await page.locator(".feed article").first().getByRole("link", { name: `${name} B.` }).waitFor();
  const command = panel.locator(".request", { hasText: "PUT /users/{userId}" });
  await command.getByText("Every copy was up to date after").waitFor();
  await command.getByText("UsernamesInPosts").first().waitFor();
  await command.locator("abbr", { hasText: "C1" }).waitFor();
  await panel.locator(".request", { hasText: "Q6" }).first().getByText("1 logical partition, 1 physical").waitFor();
  await isAccessible(page, "the panel of costs");
  await command.evaluate((element) => element.scrollIntoView({ block: "center" }));
  await picture(page, "page-costs", { width: 1360, height: 860 });
});

story("a post that is edited and deleted leaves the feed", async (page) => {
  await signUp(page);
  await publish(page, "To be deleted", "Soon.");
  await page.getByRole("link", { name: "Edit" }).click();
  await heading(page, "Edit the post");
  await fill(page, { Title: "To be deleted soon" });
  await press(page, "Save");
  await heading(page, "To be deleted soon");
  await press(page, "Delete");
  await page.getByRole("group", { name: /Delete this post/ }).getByRole("button", { name: "Delete" }).click();
  await heading(page, "Newest posts");
  await page.locator(".feed article").first().waitFor();
  assert.equal(await page.getByRole("link", { name: "To be deleted soon" }).count(), 0);
});

story("a form says what is wrong in the words of the API, at its field", async (page) => {
  await open(page, "#/sign-up");
  await press(page, "Sign up");
  const field = page.getByLabel("Your name", { exact: true });
  await page.getByText("Validation failed").waitFor();
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  assert.equal(await page.evaluate(() => document.activeElement.name), "username");
  const described = await field.getAttribute("aria-describedby");
  const fault = page.locator(`#${described.split(" ").at(-1)}`);
  assert.match(await fault.textContent(), /^username must be 1 to 64 characters/);
  await isAccessible(page, "a form with an error");
  await fill(page, { "Your name": "ada" });
  await press(page, "Sign up");
  await page.getByRole("alert").getByText(/taken|another user/i).first().waitFor();
});

story("a renamed category is watched until its products have the name", async (page) => {
  await open(page, "#/store");
  await picture(page, "page-store");
  await page.getByRole("link", { name: "Parts" }).click();
  await heading(page, "Parts");
  await fill(page, { "New name": "Parts and tools" });
  await press(page, "Rename");
  await page.getByText(/^4 of 4 products have the new name after/).waitFor();
  await heading(page, "Parts and tools");
  await isAccessible(page, "a category");
});

story("an order is made, and both ways know the customer", async (page) => {
  await open(page, "#/store/categories/parts/products/pump");
  await page.getByLabel("Customer", { exact: true }).selectOption("chen");
  await fill(page, { Quantity: "2" });
  await press(page, "Order");
  await page.getByText("Ordered: 62.00 in all.").waitFor();
  await page.getByRole("link", { name: "All orders of the customer" }).click();
  await heading(page, "Chen Wu");
  await page.getByText("2 × Pump").waitFor();
  await open(page, "#/store/top");
  assert.equal(await page.locator(".ranking").count(), 2);
  assert.equal(await page.locator(".figures", { hasText: "RU" }).count(), 2);
  await isAccessible(page, "the top customers");
});

story("the news are listed by window and provider, and searched", async (page) => {
  await open(page, "#/news");
  await page.getByText("Asked:").waitFor();
  await page.getByLabel("Window").selectOption("90");
  await fill(page, { Search: "river" });
  await press(page, "Show");
  await heading(page, /News with/);
  await page.locator(".badge.warm").first().waitFor();
  await isAccessible(page, "the news");
  await picture(page, "page-news");
});

story("an operator pauses a projection and resumes it", async (page) => {
  await open(page, "#/operators");
  const projection = page.locator(".projection-state", { hasText: "HomeFeed" });
  await projection.getByText("Pause", { exact: true }).click();
  await projection.getByLabel("Reason").fill("A story of the page");
  await projection.getByRole("button", { name: "Pause HomeFeed" }).click();
  await projection.locator(".badge", { hasText: "paused" }).waitFor();
  await projection.getByText("A story of the page").waitFor();
  await isAccessible(page, "the operators");
  await picture(page, "page-operators", { height: 1000 });
  await projection.getByRole("button", { name: "Resume HomeFeed" }).click();
  await projection.locator(".badge", { hasText: "running" }).waitFor();
});

story("the page of the API names the cost of a request, sends it, and asks no other host", async (page) => {
  await page.goto(`${PAGE_URL}/api/docs#/blog/PutUser`);
  const operation = page.locator("#operations-blog-PutUser");
  await operation.getByText(/C1: \d+ store requests, [\d.]+ RU/).waitFor();
  await picture(page, "api-docs", { height: 900 });
  await operation.getByPlaceholder("userId").fill(`docs-${process.pid}`);
  await operation.locator(".body-param__text").fill(JSON.stringify({ username: `Docs ${process.pid}` }));
  await operation.getByRole("button", { name: "Execute" }).click();
  const answer = operation.locator(".live-responses-table");
  await answer.getByText("201", { exact: true }).waitFor();
  await answer.getByText(/x-ms-request-charge: [\d.]+/).waitFor();
});

story("all of it works by the keyboard alone", async (page) => {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Write a post");
  await page.locator("#costs-toggle").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "What it costs" }).waitFor();
  await page.getByRole("button", { name: "Close" }).focus();
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "costs-toggle");
});

story("a missing post and a request without an answer say what to do", async (page) => {
  await open(page, "#/posts/there-is-none");
  await page.getByRole("alert").getByText("Not found").waitFor();
  await page.route("**/api/feed*", (route) => route.abort());
  await open(page, "#/");
  await page.getByText("The app cannot be reached").waitFor();
  faults.length = 0;
  await page.unroute("**/api/feed*");
  await press(page, "Retry");
  await page.locator(".feed article").first().waitFor();
});

for (const [size, viewport] of [["desktop", DESKTOP], ["phone", PHONE]]) {
  for (const scheme of ["light", "dark"]) {
    story(`axe-core finds nothing on a ${size} in ${scheme}`, async (page) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: scheme });
      for (const address of ["#/", "#/posts/demo-post-02", "#/users/ada", "#/sign-up", "#/store", "#/store/categories/bikes", "#/store/categories/bikes/products/city-7", "#/news", "#/operators", "#/key"]) {
        await open(page, address);
        await isAccessible(page, `${address} on a ${size} in ${scheme}`);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${address} is ${overflow} px wider than a ${size}`);
      }
      if (size === "phone" && scheme === "dark") {
        await open(page, "#/");
        await picture(page, "page-phone-dark", { ...viewport, scheme });
      }
    });
  }
}
