/** The package: its exports, its files, and that the build runs, unless `dist` is new, as after `npm run build`. */
import { execFile, execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import * as source from "../src/index.ts";
import { run as runIn, runWebhooks } from "./support/cli.ts";
import { startImapServer } from "./support/imap-server.ts";
import { startModels } from "./support/models.ts";
import { startSmtp } from "./support/smtp.ts";
import { toBytes, toMailConfig } from "./support/mail-service.ts";
import { createPostgresUrl } from "./support/postgres.ts";
import { ACP_AGENT, isBuilt, PACKAGE } from "./support/program.ts";
import { describeTypes, listTypes } from "./support/public-types.ts";
import { HOOK_TOKEN } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");
const run = promisify(execFile);
const folder = mkdtempSync(path.join(tmpdir(), "hookline-package-"));
/** The folder where the packed package is installed, beside a plugin with its own tests. */
const home = path.join(folder, "pigeon");
const installed = path.join(home, "node_modules/hookline");
const command = path.join(installed, "dist/cli/webhooks.js");
/** The names of its files. */
let packed: string[];

beforeAll(async () => {
  if (!isBuilt()) await run(process.execPath, [path.join(root, ".ci/build.ts"), PACKAGE]);
  packed = await installPackage();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("exports these names, from the source and from the package", async () => {
  const names = [
    "ConfigError",
    "DriverError",
    "HookError",
    "MailError",
    "createApi",
    "createCommentChannel",
    "createHookline",
    "defineConfig",
    "definePlugin",
    "defineSignature",
    "defineVendor",
  ];
  expect(Object.keys(source).toSorted()).toEqual(names);
  const built: object = await import(path.join(installed, "dist/index.js"));
  expect(Object.keys(built).toSorted()).toEqual(names);
  const testing: object = await import(path.join(installed, "dist/service/testing.js"));
  expect(Object.keys(testing).toSorted()).toEqual(["closeSandbox", "createInput", "runTransform"]);
});

const ENTRIES = ["dist/index.d.ts", "dist/contracts/index.d.ts", "dist/service/testing.d.ts"];

test("has the types that public-types.txt shows", async () => {
  const [hookline, contracts, testing] = ENTRIES.map((entry) => describeTypes(path.join(installed, entry)));
  const text = `// hookline\n\n${hookline}\n\n// hookline/contracts\n\n${contracts}\n\n// hookline/testing\n\n${testing}\n`;
  await expect(text).toMatchFileSnapshot("public-types.txt");
});

/** Where a type may be declared that users see. Everything else is inside. */
const PUBLIC = [
  /^dist\/(?:index|contracts\/[\w-]+|core\/ports\/[\w-]+|vendors\/(?:kit|signatures)\/[\w/]+)\.d\.ts$/,
  /^dist\/core\/(?:errors|config\/schema\/generated|transforms\/transform-types)\.d\.ts$/,
  /^dist\/core\/(?:shared\/text\/diff|telemetry\/log)\.d\.ts$/,
  /^dist\/service\/(?:library|testing)\.d\.ts$/,
];
/** Ports that only this repository's own drivers use. Members that lead there are marked `@internal`. */
const INTERNAL = [
  "MailAccount",
  "ModelApi",
  "OfferedChange",
  "PartPlaces",
  "PublishedChange",
  "Workspace",
  "Workspaces",
];

test("public types lead to no inner one, can be imported by name, and say what they are", () => {
  const types = ENTRIES.flatMap((entry) => listTypes(path.join(installed, entry)));
  const texts = ENTRIES.map((entry) => readFileSync(path.join(installed, entry), "utf8"));
  const names = types.map(({ name }) => name);
  const inner = types.filter(({ file }) => !PUBLIC.some((pattern) => pattern.test(path.relative(installed, file))));
  expect(inner.map(({ name, file }) => `${name} of ${file}`)).toEqual([]);
  expect(names.filter((name) => INTERNAL.includes(name))).toEqual([]);
  const shared = types.filter(
    ({ isPrivate, text }) => !isPrivate && /^(?:declare (?:abstract )?class|interface|type) /.test(text),
  );
  expect(shared.length).toBeGreaterThan(100);
  const isNamed = (name: string): boolean => texts.some((text) => new RegExp(`\\b${name}\\b`).test(text));
  expect(shared.filter(({ name }) => !isNamed(name)).map(({ name }) => name)).toEqual([]);
  expect(shared.filter(({ isDocumented }) => !isDocumented).map(({ name }) => name)).toEqual([]);
});

test("no declaration of the package names the resolved configuration, which changes with every setting", () => {
  const declarations = packed.filter((name) => name.endsWith(".d.ts"));
  expect(declarations).toContain("dist/index.d.ts");
  const naming = declarations.filter((name) =>
    readFileSync(path.join(installed, name), "utf8").includes("ResolvedConfig"),
  );
  expect(naming).toEqual([]);
});

test("its types compile with all library checks, and without those of Node", async () => {
  const project = path.join(home, "typed");
  mkdirSync(project);
  const compilerOptions = { module: "nodenext", strict: true, noEmit: true, types: [], skipLibCheck: false };
  writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  const entries = ["hookline", "hookline/contracts", "hookline/testing"];
  writeFileSync(path.join(project, "use.ts"), entries.map((entry) => `export * from "${entry}";\n`).join(""));
  writeFileSync(path.join(project, "transform.ts"), TYPED);
  const { stdout } = await runIn(project, process.execPath, [path.join(root, "node_modules/typescript/bin/tsc")]);
  expect(stdout).toBe("");
});

const TYPED = `import type { Transform } from "hookline";
import type { GitHub } from "hookline/presets";
const transform: Transform<GitHub> = ({ event, payload }) =>
  event === "issues.opened" ? { message: payload.issue.title.trim() } : undefined;
export default transform;
`;

/** `docs.test.ts` executes the page. */
test("the check of the guide Tests and CI finds a mistake, and nothing else, with this package and TypeScript alone", async () => {
  const project = path.join(home, "guide");
  const page = readFileSync(path.join(root, "docs/guide/tests-and-ci.md"), "utf8");
  for (const [, file = "", text = ""] of page.matchAll(/^```\S+ (\S+)\n(.*?)^```$/gms)) {
    mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
    writeFileSync(path.join(project, file), text);
  }
  mkdirSync(path.join(project, "node_modules"));
  symlinkSync(path.join(root, "node_modules/typescript"), path.join(project, "node_modules/typescript"));
  const [, line = ""] = /^ +- run: npx hookline (check .*)$/m.exec(page) ?? [];
  expect(line).toContain("--types");
  expect(await runWebhooks(project, "types", "--env-file", ".env.example")).toMatchObject({ code: 0 });
  const module = path.join(project, "transforms/ci.ts");
  writeFileSync(module, readFileSync(module, "utf8").replace("state.get(payload.job)", "state.get(payload.jop)"));
  const { code, stderr } = await runIn(project, process.execPath, [command, ...line.split(" ")]);
  const found = stderr.trim().split("\n");
  expect({ code, found }).toEqual({ code: 1, found: [expect.stringContaining("Property 'jop' does not exist")] });
});

test("a globally installed command writes a transform that finds the types of the presets", async () => {
  const elsewhere = mkdtempSync(path.join(tmpdir(), "hookline-global-"));
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  const flags = ["--preset", "gitlab", "--event", "note.create"];
  const { stdout: written } = await runIn(elsewhere, process.execPath, [command, "transform", "new", "mr", ...flags]);
  expect(written).toContain("transforms/mr.ts");
  writeFileSync(path.join(elsewhere, "transforms/typed.ts"), TYPED);
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  expect(await runIn(elsewhere, process.execPath, [tsc, "-p", "transforms"])).toMatchObject({ code: 0, stdout: "" });
});

test("the installed command runs a transform in the sandbox, from the current folder also in another npm script", async () => {
  writeFileSync(
    path.join(folder, "t.ts"),
    "export default ({ payload }: any) => ({ message: `n is ${payload.n}` });\n",
  );
  writeFileSync(path.join(folder, "payload.json"), '{ "n": 7 }');
  const mappings = [{ match: { path: "t" }, transform: { module: "t.ts" } }];
  const hooks = { enabled: true, token: HOOK_TOKEN, transformsDir: ".", mappings };
  writeFileSync(path.join(folder, "webhooks.json"), JSON.stringify({ hooks }));
  const env = { INIT_CWD: home };
  const { stdout } = await runIn(folder, process.execPath, [command, "try", "t", "payload.json"], { env });
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, actions: [{ message: "n is 7" }] });
});

test("every file of the program loads with the packages that npm installs with it, and no others", async () => {
  const files = packed.filter((name) => /^dist\/(?:chunks\/.*|index|contracts\/index)\.js$/.test(name));
  const load = `for (const file of process.argv.slice(1)) await import(file);\nprocess.exit(0);`;
  const urls = files.map((name) => pathToFileURL(path.join(installed, name)).href);
  const { stderr } = await runIn(folder, process.execPath, ["--input-type=module", "-e", load, ...urls]);
  expect(files.length).toBeGreaterThan(20);
  expect(stderr).toBe("");
});

test("reads and sends mail, stores in PostgreSQL, asks models and talks to an ACP agent with these packages alone", async () => {
  const [mailbox, models, smtp] = await Promise.all([startImapServer(), startModels(), startSmtp()]);
  onTestFinished(async () => {
    await Promise.all([mailbox.close(), models.close(), smtp.close()]);
  });
  models.reply("It is done.");
  const kinds = ["openai", "anthropic", "openai-compatible", "acp"];
  const config = toMailConfig(
    mailbox,
    {},
    {
      presets: [{ use: "mail", with: { channel: "email", to: smtp.recipient } }],
      mappings: [
        {
          match: { path: "ask" },
          messageTemplate: "{{question}}",
          model: "{{kind}}/m",
          channel: "email",
          to: smtp.recipient,
        },
      ],
    },
  );
  const { createHookline }: typeof source = await import(path.join(installed, "dist/index.js"));
  const service = await createHookline({
    config: {
      ...config,
      gateway: { ...config.gateway, port: 0 },
      agents: {
        providers: {
          openai: { kind: "openai", baseUrl: models.baseUrl, apiKey: "key" },
          anthropic: { kind: "anthropic", baseUrl: models.baseUrl, apiKey: "key" },
          "openai-compatible": { kind: "openai-compatible", baseUrl: models.baseUrl },
          acp: { kind: "acp", sandbox: false, command: [process.execPath, ACP_AGENT] },
        },
        defaults: { model: "openai/m" },
      },
      channels: {
        email: {
          host: smtp.host,
          port: smtp.port,
          tls: "none",
          user: smtp.user,
          password: smtp.password,
          from: "hooks@example.com",
        },
      },
      store: { url: await createPostgresUrl() },
    },
  });
  onTestFinished(() => service.close());
  const { url } = await service.listen();
  for (const kind of kinds) {
    const body = new FormData();
    body.set("kind", kind);
    body.set("question", "Is it done?");
    const headers = { authorization: `Bearer ${HOOK_TOKEN}` };
    const response = await fetch(`${url}/hooks/ask`, { method: "POST", headers, body });
    expect(response.status).toBe(202);
  }
  await expect.poll(() => mailbox.idleCount()).toBe(1);
  mailbox.append("INBOX", toBytes("first@example.org", { text: "hello" }));
  await expect.poll(() => smtp.raw().length).toBe(kinds.length + 1);
});

test("names the libraries that it contains, with their licenses", () => {
  const { components } = JSON.parse(readFileSync(path.join(installed, "dist/sbom.cdx.json"), "utf8"));
  const names: string[] = components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(["ai", "handlebars", "imapflow", "pg", "preact"]));
  const licenses = readFileSync(path.join(installed, "dist/LICENSES.txt"), "utf8");
  expect(names.filter((name) => !licenses.includes(`${name} `))).toEqual([]);
});

test("on an old Node the command says so before anything else fails", async () => {
  const { engines } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const oldest = Number(engines.node.replace(">=", ""));
  const pretended = `${oldest - 1}.9.0`;
  const pretend = `Object.defineProperty(process, "versions", { value: { node: "${pretended}" } })`;
  const pretending = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`];
  const old = findNodes().filter(({ version }) => Number.parseInt(version, 10) < oldest);
  for (const { file, version, args } of [
    { file: process.execPath, version: pretended, args: pretending },
    ...old.slice(0, 1).map((node) => ({ ...node, args: [] })),
  ]) {
    expect(await runIn(folder, file, [...args, command, "--help"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `Hookline needs Node.js ${oldest} or newer; this is v${version}. Try \`npm i node@${oldest}\`.\n`,
    });
  }
});

test("contains what it needs, and no tests", () => {
  expect(packed).toEqual(
    expect.arrayContaining([
      "README.md",
      "LICENSE",
      "dist/cli/webhooks.js",
      "dist/index.d.ts",
      "dist/contracts/index.d.ts",
      "dist/sandbox/child.cjs",
      "presets/mail/preset.json",
      "presets/github/page.md",
      "schemas/config.json",
    ]),
  );
  // An example in the docs has its own test.
  expect(packed.filter((name) => /^(?!docs\/).*\.test\.|^(src|test|\.ci)\//.test(name))).toEqual([]);
});

test("with what npm installs beside it, it has at most 12 packages and 70 MB", () => {
  // npm links the program of esbuild into a second package.
  const sizes = new Map<number, number>();
  const places = listDependencies();
  const folders = [
    ...places.map((place) => path.join(root, place)),
    ...["dist", "docs", "presets", "schemas"].map((name) => path.join(installed, name)),
  ];
  for (const entry of folders.flatMap((place) => readdirSync(place, { recursive: true, withFileTypes: true }))) {
    const { ino, size } = statSync(path.join(entry.parentPath, entry.name));
    if (entry.isFile()) sizes.set(ino, size);
  }
  expect(sizes.values().reduce((sum, size) => sum + size)).toBeLessThan(70e6);
  expect(places.length + 1).toBeLessThanOrEqual(12);
});

test("of a plugin's own tests with the published package, a correct one passes the contracts, and a wrong one does not", async () => {
  const args = ["--test", "--test-isolation=none", "--test-reporter=tap", "right.test.js", "wrong.test.js"];
  const { code, stdout } = await runIn(home, process.execPath, args);
  expect(failuresIn(stdout)).toEqual([
    "reckless nest",
    "an unknown recipient is a permanent error",
    "a refusal is a permanent error",
    "remote channel contract: wrong pigeon",
    "replies to a heartbeat turn",
    "agent contract: wrong parrot",
  ]);
  for (const right of ["nest", "remote channel contract: pigeon", "agent contract: parrot"]) {
    expect(stdout).toMatch(new RegExp(`^ok \\d+ - ${right}$`, "m"));
  }
  expect(code).toBe(1);
});

/** The other versions of Node on the PATH. */
function findNodes(): { file: string; version: string }[] {
  const files = (process.env["PATH"] ?? "").split(path.delimiter).map((place) => path.join(place, "node"));
  const others = new Set(files.filter((file) => existsSync(file)).map((file) => realpathSync(file)));
  others.delete(realpathSync(process.execPath));
  return Array.from(others, (file) => ({
    file,
    version: execFileSync(file, ["-p", "process.versions.node"]).toString().trim(),
  }));
}

/** Installs plugin and packed package, with its dependencies from the checkout. Returns the names of the packed files. */
async function installPackage(): Promise<string[]> {
  cpSync(path.join(import.meta.dirname, "fixtures/plugin"), home, { recursive: true });
  mkdirSync(installed, { recursive: true });
  const options = ["--json", "--ignore-scripts", "--pack-destination", home];
  const { stdout } = await run("npm", ["pack", ...options], { cwd: root });
  const [{ filename, files }] = JSON.parse(stdout);
  await run("tar", ["-xzf", path.join(home, filename), "--strip-components=1", "-C", installed]);
  linkDependencies();
  return files.map((file: { path: string }) => file.path);
}

/**
 * Makes the folder that pnpm makes: copies are in a store, each beside links to those that it needs, and the package has links to
 * them. A link into the checkout would lead to all of its libraries. Every other test has the flat folder of npm.
 */
function linkDependencies(): void {
  const places = listDependencies();
  const inStore = (place: string): string => path.join(home, "store", place.replaceAll("/", "+"), place);
  for (const place of places) {
    cpSync(path.join(root, place), inStore(place), { recursive: true });
    link(inStore(place), path.join(installed, place));
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(path.join(root, place, "package.json"), "utf8"),
    );
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const needed = `node_modules/${name}`;
      if (places.includes(needed)) link(inStore(needed), path.join(home, "store", place.replaceAll("/", "+"), needed));
    }
  }
}

function link(target: string, from: string): void {
  mkdirSync(path.dirname(from), { recursive: true });
  symlinkSync(target, from);
}

/** The folders of the packages that npm installs with this one, from that of the checkout. */
function listDependencies(): string[] {
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  return Object.entries<{ dev?: boolean; optional?: boolean }>(packages)
    .filter(([place, { dev, optional }]) => place !== "" && !dev && !(optional && !existsSync(path.join(root, place))))
    .map(([place]) => place);
}

/** The names of failed tests in a TAP report, each before its suite. */
function failuresIn(report: string): string[] {
  return Array.from(report.matchAll(/^ *not ok \d+ - (.*)$/gm), ([, name = ""]) => name);
}
