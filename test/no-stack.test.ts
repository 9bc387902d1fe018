/** `check` and `doctor` end with problems, never with a stack, whatever the configuration, its files and accepted schemas are. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { isObject } from "../src/core/shared/json.ts";
import { runWebhooks } from "./support/cli.ts";

let folder: string;
beforeAll(() => void (folder = mkdtempSync(path.join(tmpdir(), "hookline-broken-"))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = "a-secret-that-is-long-enough-0123456789";

/** Every kind of block, and nothing that is asked over the network. */
const VALID: UserConfig = {
  gateway: {
    port: 18_790,
    host: "127.0.0.1",
    auth: { token: `${SECRET}-gateway` },
    mcp: { principals: { desk: { secret: `${SECRET}-mcp`, events: ["ci"] } }, allowHosts: ["127.0.0.1"] },
  },
  store: { retention: { maxAge: "7d", maxBytes: 2_000_000 } },
  log: { level: "silent" },
  alerts: [{ on: ["approval-waiting"], channel: "http", to: "ops" }],
  channels: { http: { targets: { ops: { url: "http://127.0.0.1:9/ops" } } } },
  agents: {
    providers: { house: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1" } },
    defaults: { model: "house/large", heartbeat: { every: "24h" }, maxAttempts: 2 },
    approvals: { channel: "http", to: "ops", expires: "4h" },
    budget: { perDay: 5, unit: "cost" },
    prices: { "house/large": { input: 1, output: 2 } },
    tools: {
      tickets: {
        kind: "http",
        baseUrl: "http://127.0.0.1:9/api",
        private: true,
        calls: { show: { description: "One ticket.", get: "/tickets/{id}", input: { id: "integer" } } },
      },
      odd: { kind: "mcp", url: "http://127.0.0.1:9/mcp", private: true, audience: "private" },
    },
  },
  hooks: {
    enabled: true,
    token: `${SECRET}-hook`,
    path: "/hooks",
    presets: [{ use: "github", with: { secret: `${SECRET}-github` } }],
    mappings: [
      {
        id: "ci",
        match: { path: "ci", payload: { state: "open" }, where: { type: "object" } },
        messageTemplate: "{{text}}",
        sessionKey: "ci:{{id}}",
        subject: "{{title}}",
        deliver: true,
        channel: "http",
        to: "ops",
        timeoutSeconds: 30,
        dedupe: "{{id}}",
        publish: { arguments: { env: "{{env}}" } },
        context: [{ call: "tickets.show", arguments: { id: "{{id}}" }, title: "The ticket" }],
        grants: { "tickets.show": { mode: "ask", arguments: { id: 7 }, max: 2 } },
      },
    ],
  },
};

/** Values of another type than the one that is there, or of a type that is nowhere. */
const WRONG: [name: string, wrong: (value: unknown) => unknown][] = [
  ["null", () => null],
  ["another type", (value) => (typeof value === "object" ? 7 : { "": [{}] })],
  ["a list in a list", (value) => (Array.isArray(value) ? [[[value]]] : [[value]])],
  ["an unknown key", (value) => (isObject(value) ? { ...value, __proto__x: 1, toString: {} } : [null, {}])],
];

type Path = (string | number)[];

function listPaths(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, one]) => listPaths(one, [...at, key]))];
}

function change(value: unknown, [key, ...rest]: Path, wrong: (value: unknown) => unknown): unknown {
  if (key === undefined) return wrong(value);
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[key] = change(copy[key], rest, wrong);
  return copy;
}

interface Change {
  name: string;
  at: Path;
  wrong(value: unknown): unknown;
}

const CHANGES: Change[] = listPaths(VALID).flatMap((at) =>
  WRONG.map(([name, wrong]) => ({ name: `${at.join(".") || "all of it"} is ${name}`, at, wrong })),
);

/** Texts that parse, or not, and mean nothing. */
const TEXTS: [name: string, text: string][] = [
  ["is empty", ""],
  ["is a brace", "{"],
  ["is a number", "7"],
  ["is a list", "[]"],
  ["is nothing", "null"],
  ["has a control character", "{ a: '\u0000' }"],
  ["is nested deeply", "[".repeat(20_000) + "]".repeat(20_000)],
  ["has a huge number", '{ "gateway": { "port": 1e999 } }'],
  ["has a key twice", '{ "hooks": {}, "hooks": {} }'],
  ["has __proto__", '{ "__proto__": { "hooks": 1 }, "hooks": { "__proto__": 7 } }'],
];

/** One value each that fits the schema and cannot work. */
const MEANT: [name: string, at: string, value: unknown][] = [
  ["a template that does not end", "hooks.mappings.0.messageTemplate", "{{#if a}}"],
  ["a template with an unknown helper", "hooks.mappings.0.sessionKey", "{{nothing a b}}"],
  ["an unknown variable", "hooks.token", "${NO_SUCH_VARIABLE}"],
  ["a missing file", "hooks.token", "${file:/no/such/file}"],
  ["a folder as a file", "hooks.token", "${file:/tmp}"],
  ["an expression that does not end", "hooks.mappings.0.match.payload.state", "/(/"],
  ["an expression that takes exponential time", "hooks.mappings.0.match.payload.state", "/(?=a)b/"],
  ["a schema that refers to nothing", "hooks.mappings.0.match.where", { $ref: "#/no" }],
  ["a schema of a type that does not exist", "hooks.mappings.0.match.where", { type: "any" }],
  ["a schema file that does not exist", "hooks.mappings.0.match.where", "./nothing.json"],
  ["a transform that does not exist", "hooks.mappings.0.transform", { module: "nothing.ts" }],
  ["a transform outside of its folder", "hooks.mappings.0.transform", { module: "../../etc/passwd" }],
  ["a database that is no address", "store.url", "postgres://%%%"],
  ["an address with a password", "agents.tools.odd.url", "http://a:b@127.0.0.1/"],
  ["an address of another kind", "agents.tools.odd.url", "file:///etc/passwd"],
  [
    "a program that does not exist",
    "agents.tools.odd",
    { kind: "mcp", command: ["/no/such/program"], audience: "private" },
  ],
  ["a preset that does not exist", "hooks.presets", [{ use: "nothing" }]],
  ["a plugin that does not exist", "plugins", ["./nothing.mjs"]],
  ["a call that does not exist", "hooks.mappings.0.context.0.call", "tickets.nothing"],
  ["a set that does not exist", "hooks.mappings.0.grants", { "nothing.*": "read" }],
  ["a grant that matches nothing", "hooks.mappings.0.grants", { "tickets.nothing*": "read" }],
  ["an input that is no schema", "agents.tools.tickets.calls.show.input", { id: { type: "any" } }],
  ["an input with a dangling reference", "agents.tools.tickets.calls.show.input", { id: { $ref: "#/$defs/a" } }],
  ["a path that leads elsewhere", "agents.tools.tickets.calls.show.get", "/../{id}"],
  ["a path with a brace", "agents.tools.tickets.calls.show.get", "/{id"],
  ["a duration that is none", "agents.approvals.expires", "soon"],
  ["a model without its provider", "agents.defaults.model", "nobody/large"],
  [
    "two mappings with one id",
    "hooks.mappings",
    [1, 2].map(() => ({ id: "a", match: { path: "a" }, messageTemplate: "x" })),
  ],
];

/** A block that is null is absent, and some values may be anything. */
const VALID_TOO = new Set(
  [
    "gateway",
    "gateway.auth",
    "gateway.mcp",
    "store",
    "store.retention",
    "log",
    "alerts",
    "hooks",
    "hooks.presets",
    "hooks.mappings",
    "hooks.mappings.0.match.payload.state",
    "agents.defaults",
    "agents.approvals",
    "agents.budget",
  ].map((at) => `${at} is null`),
);
const ANYTHING =
  /^(?:hooks\.mappings\.0\.context\.0\.arguments\.id|agents\.tools\.tickets\.calls\.show\.input\.id is another)|^has a program that/;

const FITS = new Set(CHANGES.filter(({ name }) => VALID_TOO.has(name) || ANYTHING.test(name)));

/** Changes that do not touch each other are in one configuration. */
function group(changes: Change[]): Change[][] {
  const groups: Change[][] = [];
  for (const one of changes) {
    const isFree = (other: Change[]) =>
      other.length < 20 && !other.some(({ at }) => isWithin(at, one.at) || isWithin(one.at, at));
    const found = groups.find(isFree);
    if (found) found.push(one);
    else groups.push([one]);
  }
  return groups;
}

function isWithin(at: Path, outer: Path): boolean {
  return outer.every((key, index) => at[index] === key);
}

const apply = (changes: Change[]): string =>
  JSON.stringify(changes.reduce<unknown>((config, { at, wrong }) => change(config, at, wrong), VALID));

/** The last of each: whether the service can use it. */
const CASES: [name: string, text: string, isValid: boolean][] = [
  ...TEXTS.map(([name, text]): (typeof CASES)[number] => [name, text, false]),
  ...MEANT.map(([name, at, value]): (typeof CASES)[number] => [
    `has ${name}`,
    JSON.stringify(change(VALID, at.split("."), () => value)),
    ANYTHING.test(`has ${name}`),
  ]),
  ...[true, false].flatMap((isValid) =>
    group(CHANGES.filter((one) => FITS.has(one) === isValid)).map((changes): (typeof CASES)[number] => [
      changes.map(({ name }) => name).join(", "),
      apply(changes),
      isValid,
    ]),
  ),
];

interface Answer {
  problems: { message: string }[];
  warnings?: unknown[];
}

async function check(): Promise<{ code: number; answer: Answer }> {
  const { code, stdout, stderr } = await runWebhooks(folder, "check", "--json");
  expectNoStack(stdout + stderr);
  return { code, answer: JSON.parse(stdout) };
}

async function diagnose(): Promise<{ code: number; checks: { level: string; message: string }[] }> {
  const { code, stdout, stderr } = await runWebhooks(folder, "doctor", "--json");
  expectNoStack(stdout + stderr);
  return { code, ...JSON.parse(stdout) };
}

function expectNoStack(output: string): void {
  expect(output).not.toMatch(/\n\s+at \S+.*:\d+:\d+|TypeError|RangeError|Cannot read properties|is not a function/);
}

describe("a configuration", () => {
  beforeEach(() => rmSync(path.join(folder, "tools.lock.json"), { force: true }));

  test("that is valid has no problem", async () => {
    writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(VALID));
    expect(await check()).toMatchObject({ code: 0, answer: { problems: [] } });
    expect(CHANGES.length).toBeGreaterThan(200);
  });

  test.each(CASES)("%s", async (_, text, isValid) => {
    writeFileSync(path.join(folder, "webhooks.json5"), text);
    const { code, answer } = await check();
    expect({ code, hasProblem: answer.problems.length > 0 }).toEqual({ code: isValid ? 0 : 1, hasProblem: !isValid });
    // A configuration with a problem is read no further by `doctor` than by `check`.
    if (isValid) await diagnose();
  });

  test.each(TEXTS.slice(0, 3))("that %s is a problem for `doctor` too", async (_, text) => {
    writeFileSync(path.join(folder, "webhooks.json5"), text);
    expect((await diagnose()).checks.some(({ level }) => level === "problem")).toBe(true);
  });
});

/** Texts of `tools.lock.json`. */
const LOCKS: [name: string, lock: string][] = [
  ["is empty", ""],
  ["is a list", "[]"],
  ["is of another version", '{ "version": 2, "sets": {} }'],
  ["has no sets", '{ "version": 1 }'],
  ["has a set that is a number", '{ "version": 1, "sets": { "odd": 7 } }'],
  ["has calls that are no objects", '{ "version": 1, "sets": { "odd": [null, 7, "x", []] } }'],
  ["has a call without a name", '{ "version": 1, "sets": { "odd": [{ "input": {} }] } }'],
  ["has __proto__", '{ "version": 1, "sets": { "__proto__": [], "odd": [] } }'],
  ["is nested deeply", `{ "version": 1, "sets": { "odd": ${"[".repeat(20_000)}${"]".repeat(20_000)} } }`],
];

const deep = (depth: number): unknown => (depth === 0 ? {} : { properties: { a: deep(depth - 1) } });

/** Schemas that somebody may have accepted. */
const SCHEMAS: unknown[] = [
  null,
  7,
  "x",
  [],
  true,
  {},
  { type: "object" },
  ...["any", "float", 7, null, [], ["string", "string"], { a: 1 }].map((type) => ({
    type: "object",
    properties: { a: { type } },
  })),
  ...["04", "06", "07", "2019-09", "2020-12", "99"].map((draft) => ({
    $schema: `http://json-schema.org/draft-${draft}/schema#`,
  })),
  ...["#/$defs/A", "#", "http://a.example/a.json", "%", "", 7, null].map(($ref) => ({ properties: { a: { $ref } } })),
  ...[true, null, "a", [1], ["a", "a"], {}].map((required) => ({ type: "object", required })),
  ...[null, [], "a", { a: null }, { a: "string" }, { required: ["a"] }, { __proto__x: 1 }].map((properties) => ({
    properties,
  })),
  ...["(?=a)b", "(", "(a)\\1", "[\\w-.]", "(?P<a>b)", "\\p{L}", "a{1001}", 7].map((pattern) => ({
    properties: { a: { pattern } },
  })),
  ...["(", "(?=a)", ""].map((name) => ({ patternProperties: { [name]: {} }, additionalProperties: false })),
  ...[[], "a", null, ["a", "a"], [{}, {}]].map((values) => ({ properties: { a: { enum: values } } })),
  ...["iban", 7, null, "date-time"].map((format) => ({ properties: { a: { format } } })),

  { minimum: "1" },
  { exclusiveMinimum: true },
  { maxLength: -1 },
  { items: [{}] },
  { items: 7 },
  { const: undefined },
  { allOf: [] },
  { anyOf: {} },
  { not: 7 },
  { if: 7 },
  { $async: true },
  { nullable: true },
  { discriminator: {} },

  { id: "a" },
  { $id: "http://json-schema.org/draft-07/schema#" },
  { $id: 7 },
  { $anchor: "%" },
  { $recursiveRef: "#" },

  { definitions: null },
  { $defs: [] },
  { dependencies: { a: 7 } },
  { unevaluatedProperties: false },
  { default: {} },
  deep(70),
];

const LARGE_SCHEMAS: unknown[] = [
  { enum: Array.from({ length: 16_000 }, (_, id) => ({ id })) },
  { properties: Object.fromEntries(Array.from({ length: 4000 }, (_, id) => [`p${id}`, {}])) },
  { anyOf: Array.from({ length: 20_000 }, () => ({ $ref: "#" })) },
  { description: "x".repeat(300_000) },
];

describe("a lock file", () => {
  const grants = { "odd.*": "read", "odd.call": "ask" } as const;
  beforeEach(() => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      path.join(folder, "webhooks.json5"),
      JSON.stringify(change(VALID, ["hooks", "mappings", 0, "grants"], () => grants)),
    );
  });

  test.each(LOCKS)("that %s", async (name, lock) => {
    writeFileSync(path.join(folder, "tools.lock.json"), lock);
    const { code, answer } = await check();
    expect({ code, count: answer.problems.length > 0 }).toEqual({ code: 1, count: true });
    if (name === "is empty") await diagnose();
  });

  // The first of a row is the call that is granted by its name.
  const groups = Array.from({ length: 10 }, (_, start) => SCHEMAS.filter((_schema, index) => index % 10 === start));
  const rows = [...groups, ...LARGE_SCHEMAS.map((schema) => [schema])];
  test.each(rows.map((row) => [JSON.stringify(row).slice(0, 80), row] as const))("with %s", async (_, row) => {
    const odd = row.map((input, index) => ({ name: index === 0 ? "call" : `call${index}`, description: "", input }));
    writeFileSync(path.join(folder, "tools.lock.json"), JSON.stringify({ version: 1, sets: { odd } }));
    const { code, answer } = await check();
    // The value is used, or left out with a warning: it never keeps the service from starting.
    expect({ code, problems: answer.problems }).toEqual({ code: 0, problems: [] });
    await diagnose();
  });
});
