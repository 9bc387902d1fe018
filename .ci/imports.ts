/**
 * Checks the imports in src/: the core imports nothing from another room, other rooms import by one table, types too; each
 * library has one owner file, no files import each other in a circle, and no two files of a room have the same name.
 */
import { readFileSync, globSync } from "node:fs";
import path from "node:path";
import { parseSync } from "oxc-parser";

/** The rooms of src/, and the rooms that each may import from, besides itself. Types follow the same arrows. */
const ROOMS: Record<string, string[]> = {
  core: [],
  stores: ["core"],
  vendors: ["core"],
  agents: ["core"],
  mail: ["core", "stores", "vendors"],
  mcp: ["core"],
  operator: ["core"],
  contracts: ["core"],
  service: ["core", "stores", "vendors", "agents", "mail", "mcp", "operator"],
  cli: ["core", "stores", "vendors", "agents", "mail", "operator", "service"],
  "index.ts": ["core", "vendors", "service"],
};

/** The parts of the core that every room may import. */
const GROUND = ["core/types.ts", "core/errors.ts", "core/ports", "core/shared", "core/telemetry"];
/** The other parts that the rooms around it may import values from. `service` connects them, and may import all of it. */
const FACE: Record<string, string[]> = {
  stores: ["core/journal"],
  mail: ["core/journal/columns.ts"],
  mcp: [
    "core/dispatch/retry.ts",
    "core/ingress/authenticators.ts",
    "core/ingress/router.ts",
    "core/journal/publications.ts",
    "core/mapping/pattern.ts",
    "core/mapping/publish.ts",
  ],
  vendors: [],
  agents: ["core/config/schema/tool-schema.ts"],
  contracts: [],
  operator: [
    "core/approvals/decide.ts",
    "core/approvals/question",
    "core/boundary",
    "core/config/schema/validator.ts",
    "core/config/settings.ts",
    "core/ingress/authenticators.ts",
    "core/ingress/hook-request.ts",
    "core/ingress/parse-body.ts",
    "core/ingress/router.ts",
  ],
  cli: [
    "core/approvals/question",
    "core/boundary/visible.ts",
    "core/config",
    "core/ingress/hook-request.ts",
    "core/ingress/parse-body.ts",
    "core/mapping",
    "core/transforms",
  ],
};

/** Inside of the core: what each of its rooms may import, besides the ground. */
const CORE_GROUND = ["types.ts", "errors.ts", "ports", "shared", "telemetry", "config"];
const CORE: Record<string, string[]> = {
  "types.ts": [],
  "errors.ts": [],
  ports: ["errors.ts"],
  shared: ["errors.ts"],
  telemetry: ["errors.ts", "shared"],
  config: ["types.ts", "errors.ts", "ports", "shared"],
  ingress: CORE_GROUND,
  mapping: CORE_GROUND,
  boundary: CORE_GROUND,
  transforms: CORE_GROUND,
  journal: CORE_GROUND,
  actions: [...CORE_GROUND, "boundary", "mapping"],
  approvals: [...CORE_GROUND, "boundary"],
  dispatch: [...CORE_GROUND, "actions", "approvals", "boundary"],
  "receive.ts": [...CORE_GROUND, "ingress", "journal", "mapping", "actions", "approvals"],
};

/** In these rooms each folder has the same parts, so that names are unique within a folder. */
const ROOMS_OF_LIKE_FOLDERS = ["stores", "vendors"];

/** The one file of src/ that imports a library; of those that the page is written in, its folder. */
const OWNERS: Record<string, string> = {
  "@opentelemetry/api": "src/core/telemetry/traces.ts",
  "@agentclientprotocol/sdk": "src/agents/acp.ts",
  "@ai-sdk/anthropic": "src/agents/ai-sdk.ts",
  "@ai-sdk/openai": "src/agents/ai-sdk.ts",
  "@ai-sdk/openai-compatible": "src/agents/ai-sdk.ts",
  "@clack/prompts": "src/cli/setup/terminal.ts",
  "@codemirror/autocomplete": "src/operator/page/playground/editor.ts",
  "@codemirror/commands": "src/operator/page/playground/editor.ts",
  "@codemirror/lang-javascript": "src/operator/page/playground/editor.ts",
  "@codemirror/language": "src/operator/page/playground/editor.ts",
  "@codemirror/lint": "src/operator/page/playground/editor.ts",
  "@codemirror/state": "src/operator/page/playground/editor.ts",
  "@codemirror/view": "src/operator/page/playground/editor.ts",
  "@fastify/busboy": "src/core/ingress/parse-form.ts",
  "@humanwhocodes/momoa": "src/core/config/parse/json5.ts",
  "@lezer/highlight": "src/operator/page/playground/editor.ts",
  "@modelcontextprotocol/client": "src/agents/tools/mcp-client.ts",
  "@modelcontextprotocol/server": "src/mcp/endpoint.ts",
  "@preact/signals": "src/operator/page",
  ai: "src/agents/ai-sdk.ts",
  ajv: "src/core/config/schema/ajv.ts",
  "ajv-formats": "src/core/config/schema/ajv.ts",
  chokidar: "src/service/runtime/watch.ts",
  "css-select": "src/core/shared/html/selectors.ts",
  "css-tree": "src/core/shared/html",
  culori: "src/core/shared/html/colors.ts",
  commander: "src/cli/command.ts",
  croner: "src/core/shared/recurrence.ts",
  esbuild: "src/core/transforms/esbuild.ts",
  "fast-xml-parser": "src/core/ingress/parse-xml.ts",
  handlebars: "src/core/mapping/template/template.ts",
  imapflow: "src/mail/imap/connect.ts",
  "isolated-vm": "src/core/transforms/child/shared-isolates.ts",
  jose: "src/core/shared/net/json-web-token.ts",
  leven: "src/core/shared/text/text.ts",
  diff: "src/core/approvals/question/text-diff.ts",
  "node:sqlite": "src/stores/sqlite/database.ts",
  marked: "src/core/shared/text/markdown.ts",
  nodemailer: "src/mail/channel/transport.ts",
  parse5: "src/core/shared/html/html.ts",
  pino: "src/core/telemetry/log.ts",
  pg: "src/stores/postgres/database.ts",
  "pg-connection-string": "src/stores/postgres/database.ts",
  "postal-mime": "src/mail/message/mime.ts",
  preact: "src/operator/page",
  re2js: "src/core/config/schema/linear-regexp.ts",
  tsx: "src/core/config/plugins.ts",
  undici: "src/core/shared/net/undici.ts",
  uplot: "src/operator/page/activity/charts.ts",
  yaml: "src/core/config/parse/yaml.ts",
};

if (import.meta.main) {
  const problems = checkImports(path.join(import.meta.dirname, ".."));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The problems of the tree in this folder. */
export function checkImports(root: string): string[] {
  const files = globSync("src/**/*.{ts,tsx}", { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
  const imports = new Map<string, Imports>(files.toSorted().map((file) => [file, readImports(root, file)]));
  const problems: string[] = [];
  for (const [file, { values, files: all }] of imports) {
    for (const target of all) {
      const problem = checkTypeDirection(file, target);
      if (problem) problems.push(`${file}: ${problem}`);
    }
    for (const specifier of values) {
      const problem = specifier.startsWith(".") ? checkDirection(file, specifier) : checkOwner(file, specifier);
      if (problem) problems.push(`${file}: ${problem}`);
    }
  }
  for (const [name, sharing] of findSharedNames(files)) {
    problems.push(
      `${sharing.join(", ")}: ${sharing.length} files of a room are named ${name}. Name each after its idea`,
    );
  }
  for (const circle of findCircles(imports)) problems.push(`circle: ${circle.join(" → ")}`);
  return problems;
}

function checkDirection(file: string, specifier: string): string | undefined {
  const target = path.join(path.dirname(file), specifier);
  const [from = "", to = ""] = [file, target].map((one) => one.split(path.sep)[1] ?? "");
  if (!(from in ROOMS)) return `src/${from} has no place in .ci/imports.ts`;
  if (from === "core" && to === "core") return checkInside(file, target, specifier);
  if (from === to) return undefined;
  if (!ROOMS[from]?.includes(to)) return `${from} must not import from ${to} (${specifier})`;
  const allowed = to === "core" && FACE[from] ? [...GROUND, ...FACE[from]] : undefined;
  if (!allowed || allowed.some((one) => isIn(target, one))) return undefined;
  return `${from} must not import values from ${target}: it is not in the face of the core`;
}

function checkInside(file: string, target: string, specifier: string): string | undefined {
  const [from = "", to = ""] = [file, target].map((one) => one.split(path.sep)[2] ?? "");
  if (from === to) return undefined;
  return CORE[from]?.includes(to) ? undefined : `core/${from} must not import values from core/${to} (${specifier})`;
}

function isIn(file: string, place: string): boolean {
  return file === path.join("src", place) || file.startsWith(path.join("src", place) + path.sep);
}

/** Types follow the arrows between rooms too. */
function checkTypeDirection(file: string, target: string): string | undefined {
  const [from = "", to = ""] = [file, target].map((one) => one.split(path.sep)[1] ?? "");
  return from === to || ROOMS[from]?.includes(to) ? undefined : `${from} must not import types from ${to} (${target})`;
}

function checkOwner(file: string, specifier: string): string | undefined {
  const library = specifier.startsWith("node:")
    ? specifier
    : specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  const owner = OWNERS[library];
  if (owner === undefined) return library.startsWith("node:") ? undefined : `${library} has no owner in .ci/imports.ts`;
  return owner === file || file.startsWith(`${owner}/`) ? undefined : `${library} belongs to ${owner}`;
}

interface Imports {
  /** The specifiers of imports that remain at run time. */
  values: string[];
  /** The files of src/ that are imported, also for their types. */
  files: string[];
}

function readImports(root: string, file: string): Imports {
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

/** Files of one room with the same base name, by that name. Each folder may have its `index.ts`, which only lists. */
function findSharedNames(files: string[]): [string, string[]][] {
  const named = files.filter((file) => path.parse(file).name !== "index");
  const groups = Map.groupBy(named, (file) => {
    const [, room = "", folder = ""] = path.dirname(file).split(path.sep);
    const place = ROOMS_OF_LIKE_FOLDERS.includes(room) ? path.join(room, folder) : room;
    return path.join(place, path.parse(file).name);
  });
  return Array.from(groups, ([key, group]): [string, string[]] => [path.basename(key), group.toSorted()]).filter(
    ([, group]) => group.length > 1,
  );
}

/** One circle of each group of files that reach each other. */
function findCircles(imports: Map<string, Imports>): string[][] {
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
