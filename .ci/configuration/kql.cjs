// The queries of the log alerts, read by the parser of Kusto itself: every table, column and function
// exists, and a result has the columns that the alert compares and splits by. Queries in the
// documents are checked for their syntax.
//
//   NODE_PATH=<node_modules> node kql.cjs

const fs = require("fs");
const path = require("path");
require("@kusto/language-service/bridge.min.js");
require("@kusto/language-service-next/Kusto.Language.Bridge.min.js");

const { KustoCode, GlobalState, Symbols } = global.Kusto.Language;
const modules = "infra/modules";

// The columns that queries use, of the tables as learn.microsoft.com/azure/azure-monitor/reference/tables has them.
const tables = JSON.parse(fs.readFileSync(path.join(__dirname, "tables.json"), "utf8"));
const symbols = Object.entries(tables).map(([name, columns]) => {
  const typed = Object.entries(columns).map(([column, type]) => `${column}: ${type}`);
  return Symbols.TableSymbol.From(`(${typed.join(", ")})`).WithName(name);
});
const workspace = GlobalState.Default.WithDatabase(new Symbols.DatabaseSymbol.$ctor3("workspace", null, symbols, false));

const complaints = new Set();

function listed(list) {
  return Array.from({ length: list.Count }, (_, i) => list.getItem(i));
}

function complain(file, text, diagnostics) {
  for (const { Start, Message } of listed(diagnostics)) {
    complaints.add(`${file}:${text.slice(0, Start).split("\n").length}: ${Message}`);
  }
}

// One rule is one line of the module: which file it loads, what it compares, what it splits by.
const rule = /key: '([^']+)', query: loadTextContent\('([^']+)'\), measure: '([^']+)', by: '([^']*)'/g;
const rules = [...fs.readFileSync(`${modules}/log-alerts.bicep`, "utf8").matchAll(rule)];
for (const [, key, query, measure, by] of rules) {
  const file = path.join(modules, query);
  const text = fs.readFileSync(file, "utf8");
  const code = KustoCode.ParseAndAnalyze(text, workspace);
  complain(file, text, code.GetDiagnostics());
  const columns = Object.fromEntries(listed(code.ResultType.Columns).map((column) => [column.Name, column.Type.Name]));
  if (!["int", "long", "real"].includes(columns[measure])) {
    complaints.add(`${file}: ${key} compares ${measure}, which is no number in its result`);
  }
  if (by && columns[by] !== "string") {
    complaints.add(`${file}: ${key} splits by ${by}, which is no text in its result`);
  }
}
if (rules.length === 0) complaints.add(`${modules}/log-alerts.bicep: no rule found`);

let blocks = 0;
for (const name of fs.readdirSync("docs").filter((name) => name.endsWith(".md"))) {
  for (const [, text] of fs.readFileSync(`docs/${name}`, "utf8").matchAll(/^```(?:kusto|kql)\n([^]*?)^```/gm)) {
    blocks += 1;
    complain(`docs/${name}, query ${text.split("\n")[0]}`, text, KustoCode.Parse(text).GetDiagnostics());
  }
}

for (const complaint of [...complaints].sort()) console.log(complaint);
console.log(`kql: ${rules.length} alerts and ${blocks} queries in documents, ${complaints.size} findings`);
process.exitCode = complaints.size > 0 ? 1 : 0;
