/**
 * Checks the imports in src/, of this repository or of the folder that is named: values flow down the layers, types may be imported from anywhere, each library has one owner
 * file, and no files import each other in a circle, not even types.
 */
import { readFileSync, globSync } from "node:fs";
import path from "node:path";
import { parseSync } from "oxc-parser";

const root = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, ".."));

/** What each folder of src/ may import values from, besides itself and the lowest layer. */
const GROUND = ["types.ts", "errors.ts", "shared", "telemetry", "config"];
const STEPS = [
  "ingress",
  "mapping",
  "boundary",
  "transforms",
  "journal",
  "dispatch",
  "actions",
  "approvals",
  "agents",
  "channels",
  "mail",
  "operator",
  "providers",
  "tools",
  "mcp",
  "registration",
  "catch-up",
];
const ALLOWED: Record<string, string[]> = {
  "types.ts": [],
  "errors.ts": [],
  "plugin.ts": [],
  "library.ts": [],
  shared: ["errors.ts"],
  telemetry: ["errors.ts", "shared"],
  config: ["types.ts", "errors.ts", "shared"],
  "drivers.ts": ["config", "agents", "channels", "mail", "providers", "tools"],
  ...Object.fromEntries(STEPS.map((step) => [step, GROUND])),
  actions: [...GROUND, "boundary", "mapping"],
  approvals: [...GROUND, "boundary"],
  // The dispatcher calls the actions; they must not depend on it.
  dispatch: [...GROUND, "actions", "approvals", "boundary"],
  mail: [...GROUND, "journal"],
  mapping: [...GROUND, "mail"],
  mcp: [...GROUND, "ingress", "journal", "mapping", "tools"],
  registration: [...GROUND, "channels"],
  "catch-up": [...GROUND, "channels", "registration"],
  operator: [...GROUND, "approvals", "boundary", "ingress"],
  // It runs in a browser, so its bundle fails on anything that needs Node.
  page: ["types.ts", "boundary", "shared"],
  runtime: [...GROUND, "ingress", "mapping", "transforms", "agents", "tools"],
  "receive.ts": [...GROUND, "ingress", "journal", "mapping", "actions", "approvals", "operator"],
  "run-results.ts": [...GROUND, "mapping"],
  "stores.ts": [...GROUND, "journal", "mail"],
  service: [...GROUND, ...STEPS, "drivers.ts", "runtime", "receive.ts", "run-results.ts", "stores.ts"],
  "hookline.ts": [...GROUND, "operator", "service"],
  "index.ts": [...GROUND, "plugin.ts", "providers", "hookline.ts"],
  // The contract suites must not depend on any driver.
  contracts: GROUND,
  cli: [...GROUND, ...STEPS, "drivers.ts", "runtime", "hookline.ts"],
};

/** The lists of drivers. Only `drivers.ts` imports them, so that no step reaches a driver that is not its own. */
const DRIVER_LISTS = [
  "agents/index.ts",
  "channels/index.ts",
  "mail/sources.ts",
  "providers/index.ts",
  "tools/index.ts",
];

/** The one file of src/ that imports a library; of those that the page is written in, its folder. */
const OWNERS: Record<string, string> = {
  "@opentelemetry/api": "src/telemetry/traces.ts",
  "@agentclientprotocol/sdk": "src/agents/acp.ts",
  "@ai-sdk/anthropic": "src/agents/ai-sdk.ts",
  "@ai-sdk/openai": "src/agents/ai-sdk.ts",
  "@ai-sdk/openai-compatible": "src/agents/ai-sdk.ts",
  "@clack/prompts": "src/cli/setup/terminal.ts",
  "@codemirror/autocomplete": "src/page/playground/editor.ts",
  "@codemirror/commands": "src/page/playground/editor.ts",
  "@codemirror/lang-javascript": "src/page/playground/editor.ts",
  "@codemirror/language": "src/page/playground/editor.ts",
  "@codemirror/lint": "src/page/playground/editor.ts",
  "@codemirror/state": "src/page/playground/editor.ts",
  "@codemirror/view": "src/page/playground/editor.ts",
  "@fastify/busboy": "src/ingress/parse-form.ts",
  "@humanwhocodes/momoa": "src/config/parse/json5.ts",
  "@lezer/highlight": "src/page/playground/editor.ts",
  "@modelcontextprotocol/client": "src/tools/mcp-client.ts",
  "@modelcontextprotocol/server": "src/mcp/endpoint.ts",
  "@preact/signals": "src/page",
  ai: "src/agents/ai-sdk.ts",
  ajv: "src/config/schema/ajv.ts",
  "ajv-formats": "src/config/schema/ajv.ts",
  chokidar: "src/runtime/watch.ts",
  "css-select": "src/mail/message/selectors.ts",
  "css-tree": "src/mail/message",
  culori: "src/mail/message/appearance.ts",
  commander: "src/cli/command.ts",
  esbuild: "src/transforms/esbuild.ts",
  "fast-xml-parser": "src/ingress/parse-xml.ts",
  handlebars: "src/mapping/template/template.ts",
  imapflow: "src/mail/imap/connect.ts",
  "isolated-vm": "src/transforms/child/shared-isolates.ts",
  jose: "src/shared/net/json-web-token.ts",
  leven: "src/shared/text/text.ts",
  diff: "src/cli/format.ts",
  "node:sqlite": "src/journal/sqlite/database.ts",
  marked: "src/shared/text/markdown.ts",
  nodemailer: "src/channels/email/transport.ts",
  parse5: "src/mail/message/html.ts",
  pino: "src/telemetry/log.ts",
  pg: "src/journal/postgres/database.ts",
  "postal-mime": "src/mail/message/mime.ts",
  preact: "src/page",
  re2js: "src/config/schema/linear-regexp.ts",
  tsx: "src/config/plugins.ts",
  undici: "src/shared/net/undici.ts",
  uplot: "src/page/requests/charts.ts",
  yaml: "src/config/parse/yaml.ts",
};

const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
const imports = new Map<string, Imports>(files.toSorted().map((file) => [file, readImports(file)]));
const problems: string[] = [];
for (const [file, { values }] of imports) {
  for (const specifier of values) {
    const problem = specifier.startsWith(".") ? checkDirection(file, specifier) : checkOwner(file, specifier);
    if (problem) problems.push(`${file}: ${problem}`);
  }
}
for (const circle of findCircles()) problems.push(`circle: ${circle.join(" → ")}`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function checkDirection(file: string, specifier: string): string | undefined {
  const from = layerOf(file);
  const target = path.join(path.dirname(file), specifier);
  if (DRIVER_LISTS.includes(path.relative("src", target)) && file !== path.join("src", "drivers.ts")) {
    return `only src/drivers.ts imports the list of drivers (${specifier})`;
  }
  const to = layerOf(target);
  if (to === undefined || from === to) return undefined;
  if (from === undefined || !(from in ALLOWED)) return `src/${from} has no place in .ci/imports.ts`;
  return ALLOWED[from]?.includes(to) ? undefined : `${from} must not import values from ${to} (${specifier})`;
}

function checkOwner(file: string, specifier: string): string | undefined {
  const library = specifier.startsWith("node:")
    ? specifier
    : specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  const owner = OWNERS[library];
  if (owner === undefined) return library.startsWith("node:") ? undefined : `${library} has no owner in .ci/imports.ts`;
  return owner === file || file.startsWith(`${owner}/`) ? undefined : `${library} belongs to ${owner}`;
}

/** The first part of the path below src/. */
function layerOf(file: string): string | undefined {
  const [top, layer] = file.split(path.sep);
  return top === "src" ? layer : undefined;
}

interface Imports {
  /** The specifiers of imports that remain at run time. */
  values: string[];
  /** The files of src/ that are imported, also for their types. */
  files: string[];
}

function readImports(file: string): Imports {
  const source = readFileSync(path.join(root, file), "utf8");
  const { module, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const imported = module.staticImports.map(({ entries, moduleRequest }) => ({
    specifier: moduleRequest.value,
    isType: entries.length > 0 && entries.every((entry) => entry.isType),
  }));
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) => (moduleRequest ? { specifier: moduleRequest.value, isType } : [])),
  );
  const dynamic = module.dynamicImports.map(({ moduleRequest }) => ({
    specifier: source.slice(moduleRequest.start + 1, moduleRequest.end - 1),
    isType: false,
  }));
  const loaded = Array.from(source.matchAll(/\bloadAtFirstUse<.*>\("([^"]+)"\)/g), ([, specifier = ""]) => ({
    specifier,
    isType: false,
  }));
  const all = [...imported, ...exported, ...dynamic, ...loaded];
  const own = all.filter(({ specifier }) => specifier.startsWith("."));
  return {
    values: all.filter(({ isType }) => !isType).map(({ specifier }) => specifier),
    files: own.map(({ specifier }) => path.join(path.dirname(file), specifier)),
  };
}

/** One circle of each group of files that reach each other. */
function findCircles(): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, chain: string[]): void => {
    if (chain.includes(file)) circles.push([...chain.slice(chain.indexOf(file)), file]);
    if (done.has(file)) return;
    done.add(file);
    for (const next of imports.get(file)?.files ?? []) visit(next, [...chain, file]);
  };
  for (const file of imports.keys()) visit(file, []);
  return circles;
}
