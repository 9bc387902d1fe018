/** From traffic to code: samples, transforms and types of stored events. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliResult, run, runWebhooks } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const root = path.join(import.meta.dirname, "..");
const SECRET = "a-secret-of-github-0123456789";
const mappings = [
  { id: "builds", match: { path: "ci" }, event: "{{kind}}", transform: { module: "ci.ts" } },
  { id: "deploys", match: { path: "deploys" }, messageTemplate: "{{service}} failed", name: "Deploys" },
  { id: "broken", match: { path: "broken" }, transform: { module: "broken.ts" } },
];
const files = {
  "transforms/ci.ts": "export default ({ payload, query }: any) => ({ message: `${payload.job} ${query.branch}` });",
  "transforms/broken.ts": "export default () => { throw new Error('not yet'); };",
};

let service: Service;
beforeAll(async () => {
  const presets = [{ use: "github", with: { secret: SECRET } }];
  service = await startService({ config: { hooks: { mappings, presets } }, files });
});
afterAll(() => service.close());

describe("webhooks events save", () => {
  test("makes a sample that passes, with the action that the event leads to", async () => {
    await post("ci?branch=main", { kind: "run.failed", job: "lint" });
    const { code, stdout } = await ask("events", "save", "--last");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("webhooks test ci/run.failed") });
    expect(readJson("ci.samples/run.failed.json")).toEqual({ kind: "run.failed", job: "lint" });
    expect(readJson("ci.samples/run.failed.request.json")).toMatchObject({ query: { branch: "main" } });
    expect(readJson("ci.samples/run.failed.expected.json")).toMatchObject([{ message: "lint main" }]);
    expect(await webhooks("test", "ci")).toMatchObject({ code: 0, stdout: expect.stringContaining("1 passed") });

    const again = JSON.parse((await ask("events", "save", "last", "--to", "transforms/ci", "--json")).stdout);
    expect(again.name).toBe("ci/run.failed-2");
    expect(await ask("events", "save", "last", "--name", "run.failed")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("choose another name"),
    });
  });

  test("also where the transform fails, and then says why nothing is expected", async () => {
    await post("broken", { a: 1 });
    const { code, stderr } = await ask("events", "save", "last");
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/no expected action: .*not yet/) });
    expect(readJson("broken.samples/sample.json")).toEqual({ a: 1 });
  });
});

describe("webhooks transform new --from-event", () => {
  test("a mapping calls the new code, which starts from what the template gives", async () => {
    await post("deploys", { service: "api", log: { tail: "port in use" } });
    const { code, stdout, stderr } = await ask("transform", "new", "deploys", "--from-event", "last");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain('Added to hooks.mappings[1].transform in webhooks.json5:\n  { module: "deploys.ts" }');
    expect(read("deploys.ts")).toContain(
      "interface Payload {\n  service?: string;\n  log?: {\n    tail?: string;\n  };\n}\n",
    );
    expect(readJson("deploys.samples/sample.expected.json")).toMatchObject([
      { message: "api failed", name: "Deploys" },
    ]);
    expect(await compile()).toMatchObject({ code: 0, stdout: "" });
    expect(await webhooks("test", "deploys")).toMatchObject({ code: 0 });
    expect(await ask("transform", "new", "other", "--from-event", "last")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The mapping "deploys" has the transform deploys.ts already'),
    });
  });

  test("a preset calls it for all of its events, signed as before", async () => {
    const sample = path.join(root, "presets/github/samples/pull-request-opened.json");
    expect(await ask("send", "github", sample)).toMatchObject({ code: 0 });
    const made = await ask("transform", "new", "triage", "--from-event", "last", "--json");
    expect(JSON.parse(made.stdout)).toMatchObject({ ok: true, key: "hooks.presets[0].with.transform" });
    expect(await compile()).toMatchObject({ code: 0, stdout: "" });
    expect(readJson("triage.samples/pull_request.opened.expected.json")).toMatchObject({
      actions: [{ message: expect.stringContaining("GitHub: pull request opened by ann") }],
    });
    expect(await webhooks("test", "triage")).toMatchObject({ code: 0 });
    service.write(
      "transforms/triage.ts",
      "export default ({ payload }: any) => ({ message: `Mine: ${payload.number}` });",
    );
    await service.hookline.reload();
    const sent = JSON.parse((await ask("send", "github", sample, "--wait", "--json")).stdout);
    expect(sent.event).toMatchObject({ credential: "auth:github", runs: [{ action: { message: "Mine: 42" } }] });
  });

  test("an event of a hook without a mapping gets one; several samples make one type", async () => {
    await post("agent", { message: "x" });
    service.write("a.json", '{ "id": 1 }');
    service.write("b.json", '{ "id": "x", "more": true }');
    const args = ["--from-event", "last", "--sample", "a.json", "--sample", "b.json"];
    expect(await ask("transform", "new", "mixed", ...args)).toMatchObject({ code: 0 });
    expect(read("mixed.ts")).toContain("  id?: number | string;\n  more?: boolean;\n  message?: string;\n");
    expect(JSON.parse((await webhooks("check", "--json")).stdout).mappings).toContain("mixed");
  });
});

describe("webhooks infer", () => {
  test("infers type and schema from the events of a hook, without those that were refused", async () => {
    for (let id = 0; id < 6; id++) await post("ci", { kind: "push", id, ...(id > 3 && { note: "x" }) });
    const { code, stdout } = await ask("infer", "ci", "--since", "1h", "--event", "push");
    expect(code).toBe(0);
    expect(stdout).toContain(
      "// 6 events of ci: push 6\ninterface Payload {\n  kind: string;\n  id: number;\n  note?: string;\n}\n",
    );
    const inferred = JSON.parse((await ask("infer", "ci", "--json", "--event", "push")).stdout);
    expect(inferred).toMatchObject({
      events: 6,
      schema: { required: ["kind", "id"], properties: { id: { type: "integer" } } },
    });
    const schema = await ask("infer", "ci", "--only", "schema");
    expect(JSON.parse(schema.stdout)).toMatchObject({ type: "object", required: ["kind"] });
    expect(await ask("infer", "cii")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no stored events of cii"),
    });
  });
});

async function post(hook: string, payload: object): Promise<void> {
  const { body, headers } = await service.post(hook, payload);
  await service.settled(body?.eventId ?? headers.get("x-request-id"));
}

function read(name: string): string {
  return readFileSync(path.join(service.folder, "transforms", name), "utf8");
}

function readJson(name: string): unknown {
  return JSON.parse(read(name));
}

function compile(): Promise<CliResult> {
  return run(service.folder, path.join(root, "node_modules/.bin/tsc"), ["-p", "transforms"]);
}

function webhooks(...args: string[]): Promise<CliResult> {
  return runWebhooks(service.folder, ...args);
}

function ask(...args: string[]): Promise<CliResult> {
  return webhooks(...args, "--url", service.url);
}
