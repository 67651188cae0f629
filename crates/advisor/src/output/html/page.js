"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const GB = 2 ** 30;
const whole = (n) => Math.round(n).toLocaleString("en-US");
const about = (n) => {
  if (n < 1000) return whole(n);
  const unit = 10 ** (Math.floor(Math.log10(n)) - 2);
  return whole(Math.round(n / unit) * unit);
};

// What one candidate costs and holds, as `calculator.rs` computes it.
function at(one, size, growth, requests) {
  const bytes = one.bytes * size;
  const units = (partitions) => {
    const of = (r) => r.perDay * (r.units + (r.fansOut ? r.starts * (partitions / one.partitions - 1) : 0));
    return requests * one.requests.reduce((sum, r) => sum + of(r), 0);
  };
  let partitions = Math.max(1, Math.ceil(bytes / (50 * GB)));
  if (data.givenPartitions) partitions = one.partitions;
  const needed = Math.ceil(((units(partitions) / 86400) * one.peak) / 10000);
  if (!data.givenPartitions) partitions = Math.max(partitions, needed);
  const day = units(partitions);
  const largest = bytes * one.largestShare;
  const grown = one.endsWithPeriod ? 0 : data.bytesPerDay * growth * 365 * one.largestShare;
  return {
    day, partitions, largest, inAYear: largest + grown,
    second: day / 86400, busiest: (day / 86400) * one.busiestShare * one.peak,
  };
}

const state = (share) => (share >= 1 ? ["bad", "over"] : share >= 0.75 ? ["near", "near"] : ["fine", "fine"]);

function gauge(name, value, limit, text) {
  const element = document.querySelector(`[data-gauge="${name}"]`);
  if (!element) return;
  const [colour, word] = state(value / limit);
  element.className = `gauge ${colour}`;
  element.querySelector(".badge").textContent = word;
  element.querySelector(".value").textContent = text;
  const meter = element.querySelector(".meter");
  meter.setAttribute("aria-valuenow", Math.round(Math.min(100, (100 * value) / limit)));
  meter.firstElementChild.style.width = `${Math.min(100, (100 * value) / limit)}%`;
}

function update() {
  const [size, growth, requests] = ["size", "growth", "requests"].map((name) => {
    const factor = 10 ** Number(document.getElementById(name).value);
    const base = data[name];
    const shown = base > 0 ? about(base * factor) : `× ${factor < 10 ? factor.toPrecision(2) : about(factor)}`;
    document.getElementById(`${name}-value`).textContent = shown;
    return factor;
  });
  data.candidates.forEach((one, n) => {
    const now = at(one, size, growth, requests);
    const worst = Math.max(now.largest / (20 * GB), now.inAYear / (20 * GB), now.busiest / 10000);
    const [colour, word] = state(worst);
    const cells = [about(now.day), about(now.second), whole(now.partitions), (now.largest / GB).toFixed(1),
      (now.inAYear / GB).toFixed(1), about(now.busiest)];
    const row = document.querySelectorAll("#calculator tbody tr")[n];
    cells.forEach((text, at) => (row.cells[at + 1].textContent = text));
    const badge = row.querySelector(".badge");
    badge.className = `badge ${colour}`;
    badge.textContent = word;
    if (n > 0) return;
    gauge("largest", now.largest / GB, 20, `${(now.largest / GB).toFixed(1)} of 20 GB`);
    gauge("year", now.inAYear / GB, 20, `${(now.inAYear / GB).toFixed(1)} of 20 GB`);
    gauge("busiest", now.busiest, 10000, `${about(now.busiest)} of 10,000 RU/s`);
  });
}

for (const name of ["size", "growth", "requests"]) document.getElementById(name).addEventListener("input", update);
update();
