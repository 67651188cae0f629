// Elements, forms and texts. A text from the API becomes a text node and never markup: nothing here parses one.

import { Problem } from "./api.js";

/// Creates an element. A function under `on…` is a listener, `false` and `null` leave an attribute out.
export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === false || value == null) continue;
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

/// Tells a screen reader what has happened.
export function say(text) {
  document.getElementById("said").textContent = text;
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function time(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text ?? "");
  const minutes = Math.round((date - Date.now()) / 60_000);
  const shown =
    minutes > -1 ? "just now"
    : minutes > -60 ? AGO.format(minutes, "minute")
    : minutes > -1_440 ? AGO.format(Math.round(minutes / 60), "hour")
    : minutes > -10_080 ? AGO.format(Math.round(minutes / 1_440), "day")
    : DAY.format(date);
  return h("time", { datetime: text, title: MOMENT.format(date) }, shown);
}

export function count(number, one, several) {
  return `${number} ${number === 1 ? one : several}`;
}

export function number(value, digits = 2) {
  return Number(value).toLocaleString("en", { maximumFractionDigits: digits });
}

export function money(value) {
  return Number(value).toLocaleString("en", { minimumFractionDigits: 2 });
}

/// Returns paragraphs for the lines of a text.
export function prose(text) {
  return String(text).split(/\n{2,}/).map((part) => h("p", null, part));
}

export function path(...parts) {
  return parts.map((part) => encodeURIComponent(part)).join("/");
}

export function button(text, onclick, attributes) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/// Returns an error in the words of the API.
export function problem(error, again) {
  const { title, detail, errors } = Problem.of(error);
  return h("div", { class: "problem", role: "alert" },
    h("p", null, h("strong", null, title)),
    detail && h("p", null, detail),
    errors.length > 0 && h("ul", null, errors.map((one) =>
      h("li", null, h("code", null, one.field), ` ${one.message}`))),
    error.status === 401 && h("p", null, h("a", { href: "#/key" }, "Enter a function key")),
    again && button("Retry", again));
}

/// Runs an action of a button: once at a time, with its error beside the button.
export function action(text, work, attributes) {
  const element = button(text, async () => {
    if (element.ariaDisabled === "true") return;
    element.ariaDisabled = "true";
    place.replaceChildren();
    try {
      await work();
    } catch (error) {
      place.replaceChildren(problem(error));
    } finally {
      element.ariaDisabled = null;
    }
  }, attributes);
  const place = h("div", { class: "beside" });
  return h("div", { class: "action" }, element, place);
}

/// An action that asks first, in its own place.
export function confirmed(text, question, work) {
  const place = h("div", { class: "action" });
  const ask = () => {
    const keep = button("Keep", back);
    place.replaceChildren(
      h("div", { class: "confirm", role: "group", "aria-label": question },
        h("span", null, question), action(text, work, { class: "danger" }), keep));
    keep.focus();
  };
  const first = button(text, ask);
  const back = () => {
    place.replaceChildren(first);
    first.focus();
  };
  place.append(first);
  return place;
}

let ids = 0;

/// Returns a form. A field is `{name, label, hint, type, value, rows, required, options}`; `work` gets the values.
/// Errors of the API stand at their fields, in its own words.
export function form({ label, fields, submit, work, note }) {
  const id = `form-${(ids += 1)}`;
  const inputs = new Map();
  const alerts = h("div", { class: "beside" });
  const rows = fields.map((field) => {
    const own = `${id}-${field.name}`;
    const { rows: lines, options, type = "text", value = "", autocomplete = "off" } = field;
    const common = { id: own, name: field.name, value, "aria-required": field.required && "true", autocomplete };
    const input =
      options ? h("select", { ...common, value: null }, options.map(([key, text]) =>
        h("option", { value: key, selected: key === value }, text)))
      : lines ? h("textarea", { ...common, rows: lines })
      : h("input", { ...common, type, min: field.min, step: field.step, inputmode: field.inputmode });
    const hint = field.hint && h("p", { class: "hint", id: `${own}-hint` }, field.hint);
    const fault = h("p", { class: "fault", id: `${own}-fault`, hidden: true });
    if (hint) input.setAttribute("aria-describedby", hint.id);
    inputs.set(field.name, { input, fault, hint });
    return h("div", { class: "field" }, h("label", { for: own }, field.label), hint, input, fault);
  });
  const send = h("button", { type: "submit" }, submit);
  const show = (error) => {
    const { errors } = Problem.of(error);
    const known = errors.filter((one) => inputs.has(one.field));
    for (const { field, message } of known) {
      const { input, fault, hint } = inputs.get(field);
      fault.textContent = `${field} ${message}`;
      fault.hidden = false;
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", [hint?.id, fault.id].filter(Boolean).join(" "));
    }
    alerts.replaceChildren(problem(error));
    inputs.get(known[0]?.field)?.input.focus();
  };
  const reset = () => {
    alerts.replaceChildren();
    for (const { input, fault, hint } of inputs.values()) {
      fault.hidden = true;
      input.removeAttribute("aria-invalid");
      if (hint) input.setAttribute("aria-describedby", hint.id);
      else input.removeAttribute("aria-describedby");
    }
  };
  const element = h("form", { "aria-label": label, novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    if (send.ariaDisabled === "true") return;
    reset();
    send.ariaDisabled = "true";
    send.textContent = "Sending…";
    try {
      const values = [...inputs].map(([name, { input }]) => [name, input.value]);
      await work(Object.fromEntries(values), element);
    } catch (error) {
      show(error);
    } finally {
      send.ariaDisabled = null;
      send.textContent = submit;
    }
  } }, rows, alerts, h("div", { class: "send" }, send, note && h("span", { class: "hint" }, note)));
  return element;
}

/// A list whose further pages come by a button.
export function pages({ first, load, row, empty, list = "ol", className }) {
  const items = h(list, { class: className });
  const more = h("div", { class: "more" });
  const add = ({ items: next, nextCursor }) => {
    items.append(...next.map(row));
    more.replaceChildren(...(nextCursor ? [action("Show more", async () => add(await load(nextCursor)))] : []));
  };
  add(first);
  const isEmpty = first.items.length === 0 && !first.nextCursor;
  return h("div", null, isEmpty && empty && h("p", { class: "empty" }, empty), items, more);
}
