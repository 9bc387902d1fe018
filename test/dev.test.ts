/** `webhooks dev`: serve while one writes. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startWebhooks, runWebhooks } from "./support/cli.ts";
import { createClient, waitFor } from "./support/client.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "./support/service.ts";
import { INTERRUPT, openTerminal, type Terminal } from "./support/terminal.ts";

const TRANSFORM =
  "export default ({ payload }: { payload: { job?: string } }) => ({ message: `${payload.job} failed` });\n";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-dev-"));
  write("transforms/ci.ts", TRANSFORM);
  const mappings = [{ id: "builds", match: { path: "ci" }, transform: { module: "ci.ts" } }];
  write("webhooks.json5", JSON.stringify(withTokens({ hooks: { mappings } })));
  // Files that are as new as the start count as changed since.
  for (const name of ["transforms/ci.ts", "transforms", "webhooks.json5"]) utimesSync(path.join(folder, name), 1, 1);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("keys replay and save the last request, open the page, clear and quit", async () => {
  const terminal = openTerminal(folder, ["dev", "--port", "0"], { PATH: `${writeBrowser()}:${process.env["PATH"]}` });
  const url = await listening(terminal);
  expect(terminal.shown()).toContain("r replay the last request · s save it as a sample · o open the page");
  terminal.type("r");
  await expect.poll(() => terminal.shown()).toContain("No request has come in yet.");

  await post(url, { job: "lint" });
  await expect.poll(() => terminal.shown()).toMatch(/ci → builds lint failed → turn .*\n +.*lint failed\n/);
  terminal.type("r");
  await expect.poll(() => terminal.shown()).toMatch(/replay of ci → builds lint failed → turn .*\n +.*lint failed\n/);
  terminal.type("s");
  await expect.poll(() => terminal.shown()).toContain("webhooks test ci/sample\n");
  expect(JSON.parse(read("transforms/ci.samples/sample.json"))).toEqual({ job: "lint" });
  expect(JSON.parse(read("transforms/ci.samples/sample.expected.json"))).toEqual([
    { kind: "agent", message: "lint failed", name: "ci" },
  ]);
  expect(await runWebhooks(folder, "test")).toMatchObject({ code: 0 });

  terminal.type("o");
  await expect.poll(() => existsSync(path.join(folder, "opened")) && read("opened")).toBe(url);
  terminal.type("c");
  await expect.poll(() => terminal.raw()).toContain("\u001b[0J");
  terminal.type("q");
  expect(await terminal.end()).toBe(0);
});

test("a reload names the file and the time; one that fails shows the line, and the old code keeps serving", async () => {
  const terminal = openTerminal(folder, ["dev", "--port", "0"]);
  const url = await listening(terminal);
  write("transforms/ci.ts", TRANSFORM.replace("failed", "broke"));
  // Files that were written just before the start may be named too.
  await expect
    .poll(() => terminal.shown())
    .toMatch(/ reloaded (?:\S+, )*transforms\/ci\.ts(?:, \S+)* {2}\d+(\.\d)? m?s\n +ci\.ts \d+\.\d KB, loaded in /);
  await post(url, { job: "lint" });
  await expect.poll(() => terminal.shown()).toMatch(/lint broke\n/);

  write("transforms/ci.ts", "export default () => {\n  const = 1;\n};\n");
  await expect
    .poll(() => terminal.shown())
    .toMatch(
      / not reloaded transforms\/ci\.ts: what was served before stays in use .*\n +\S*ci\.ts:2:\d+.*\n +2 \| {3}const = 1;\n/,
    );
  await post(url, { job: "test" });
  await expect.poll(() => terminal.shown()).toMatch(/test broke\n/);
  terminal.type(INTERRUPT);
  expect(await terminal.end()).toBe(0);
});

test("without a terminal --json prints one object for each change", async () => {
  const dev = startWebhooks(folder, ["dev", "--port", "0", "--json"]);
  const lines = (): Record<string, unknown>[] =>
    dev
      .stdout()
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  const url = await waitFor(() => lines()[0]?.["url"] as string | undefined);
  await post(url, { job: "lint" });
  // A reload of files that were written just before the start may follow it.
  const answered = () => lines().findLast(({ hook }) => hook === "ci");
  await expect
    .poll(answered)
    .toMatchObject({ status: "done", runs: [{ reply: expect.stringContaining("lint failed") }] });
  expect(answered()).not.toHaveProperty("request");

  write("transforms/ci.ts", 'import { word } from "word";\nexport default () => ({ message: word });\n');
  const reload = () => lines().findLast((line) => line["reload"])?.["reload"];
  await expect
    .poll(reload)
    .toMatchObject({ problems: [{ message: expect.stringContaining('The package "word" is not installed') }] });
  mkdirSync(path.join(folder, "node_modules/word"), { recursive: true });
  write("node_modules/word/index.js", 'exports.word = "installed";\n');
  write("node_modules/word/package.json", '{ "name": "word" }');
  await expect
    .poll(reload, { timeout: 20_000 })
    .toMatchObject({ problems: [], modules: [{ packages: [{ name: "word" }] }] });
  await post(url, { job: "lint" });
  await expect.poll(answered).toMatchObject({ runs: [{ reply: expect.stringContaining("installed") }] });
  dev.stop();
  expect(await dev.ended).toMatchObject({ code: 0 });
});

test("without gateway.auth.token it shows requests and refusals all the same", async () => {
  const mappings = [{ match: { path: "ci" }, transform: { module: "ci.ts" } }];
  write("webhooks.json5", JSON.stringify({ hooks: { enabled: true, token: HOOK_TOKEN, mappings } }));
  const terminal = openTerminal(folder, ["dev", "--port", "0"]);
  const url = await listening(terminal);
  expect(terminal.shown()).toContain("off without gateway.auth.token");
  await post(url, { job: "lint" });
  await expect.poll(() => terminal.shown()).toMatch(/ ci → .*lint failed → turn .*\n +.*lint failed\n/);
  await fetch(`${url}/hooks/ci`, { method: "POST", body: "{}" });
  await expect.poll(() => terminal.shown()).toMatch(/ POST \/hooks\/ci → 401: .*\n/);
  terminal.type(INTERRUPT);
  expect(await terminal.end()).toBe(0);
});

test("without a configuration it names the command that writes one", async () => {
  rmSync(path.join(folder, "webhooks.json5"));
  expect(await runWebhooks(folder, "dev")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("`webhooks init`"),
  });
});

function listening(terminal: Terminal): Promise<string> {
  return waitFor(() => /Listening on (\S+)/.exec(terminal.shown())?.[1]);
}

async function post(url: string, payload: object): Promise<void> {
  await createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN }).post("ci", payload);
}

/** A program that notes which address it is to open. Returns its folder. */
function writeBrowser(): string {
  write("bin/xdg-open", `#!/bin/sh\nprintf %s "$1" > "${folder}/opened"\n`);
  chmodSync(path.join(folder, "bin/xdg-open"), 0o755);
  return path.join(folder, "bin");
}

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

function read(name: string): string {
  return readFileSync(path.join(folder, name), "utf8");
}
