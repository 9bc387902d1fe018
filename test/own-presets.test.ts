/** Presets of one's own, from a folder: in use by a service, and in each command that takes a preset. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseSource } from "../src/core/config/parse/source.ts";
import { runWebhooks } from "./support/cli.ts";
import { waitFor } from "./support/client.ts";
import { GATEWAY_TOKEN, type Service, startService, withTokens } from "./support/service.ts";

const PRESET = {
  name: "acme",
  description: "Deployments of Acme that failed.",
  parameters: { team: { type: "string", description: "Only of this team." } },
  events: { known: ["deploy.done", "deploy.failed"], default: ["deploy.failed"] },
  common: {
    auth: { scheme: "hmac", header: "x-acme-signature", secret: { $param: "secret" } },
    event: "deploy.{{state}}",
    events: { $param: "events" },
    dedupe: "{{id}}",
    messageTemplate: { $file: "message.hbs" },
  },
  mappings: [{}],
};

const FILES: Record<string, string> = {
  "preset.json": JSON.stringify(PRESET, undefined, 2),
  "message.hbs": "{{app}} failed: {{error}}\n",
  "samples/failed.json": JSON.stringify({ id: "d-1", state: "failed", app: "shop", error: "exit code 1" }),
  "samples/done.json": JSON.stringify({ id: "d-2", state: "done", app: "shop" }),
};
const IN_PRESETS = Object.fromEntries(Object.entries(FILES).map(([name, text]) => [`presets/acme/${name}`, text]));
const toText = (preset: object): string => JSON.stringify({ ...PRESET, ...preset }, undefined, 2);

describe("a service with a preset from a folder", () => {
  let service: Service;
  beforeEach(async () => {
    const presets = [{ use: "./presets/acme", with: { secret: "s3cret" } }];
    service = await startService({ config: { hooks: { presets } }, files: IN_PRESETS, watch: true });
  });
  afterEach(() => service.close());

  async function message(): Promise<string> {
    const { actions } = await service.try("acme", { id: "d-1", state: "failed", app: "shop", error: "exit code 1" });
    return actions[0].message;
  }
  const failure = async () => (await service.api("/api/status")).lastReloadError;

  test("takes the requests that its sender signs, and a template that is edited is live", async () => {
    const sent = await runWebhooks(
      service.folder,
      "send",
      "acme",
      "--url",
      service.url,
      "--sample",
      "failed",
      "--wait",
    );
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("shop failed: exit code 1") });
    expect((await service.post("acme", { id: "d-3", state: "failed" })).status).toBe(401);
    service.write("presets/acme/message.hbs", "{{app}} is down\n");
    await expect.poll(message).toContain("shop is down");
  });

  test.each([
    ["a preset.json that is none", "preset.json", "{", /preset\.json/],
    ["another name", "preset.json", toText({ name: "other" }), /The name must be .*acme.*, as its folder/],
    ["a template that does not compile", "message.hbs", "{{#if app}}", /messageTemplate/],
  ])("keeps the one in use beside %s, and says why", async (_what, name, text, expected) => {
    service.write(`presets/acme/${name}`, text);
    const { problems } = await waitFor(async () => (await failure()) ?? undefined);
    expect(JSON.stringify(problems)).toMatch(expected);
    expect(await message()).toContain("shop failed");
    service.write("presets/acme/preset.json", FILES["preset.json"]!);
    service.write("presets/acme/message.hbs", "{{app}} again\n");
    await expect.poll(message).toContain("shop again");
  });

  test("comes back when its folder does", async () => {
    rmSync(path.join(service.folder, "presets"), { recursive: true });
    const { problems } = await waitFor(async () => (await failure()) ?? undefined);
    expect(JSON.stringify(problems)).toMatch(/preset\.json.*(?:does not exist|cannot be read)/);
    for (const [name, text] of Object.entries(IN_PRESETS)) service.write(name, text);
    await expect.poll(failure).toBeNull();
  });
});

describe("commands", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "hookline-own-presets-"));
    for (const [name, text] of Object.entries(IN_PRESETS)) write(name, text);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(name: string, text: string): void {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const run = (...args: string[]) => runWebhooks(folder, ...args);
  const readUses = (file = "webhooks.json5"): unknown =>
    Object(parseSource(file, readFileSync(path.join(folder, file), "utf8")).value).hooks.presets;

  test("show has a page without page.md, and begins with page.md if there is one", async () => {
    const { code, stdout } = await run("presets", "show", "./presets/acme");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^# acme\n\nDeployments of Acme that failed\.\n/);
    expect(stdout).toContain("| `team` |  | Only of this team. |");
    expect(stdout).toContain("webhooks transform new mine --preset ./presets/acme");
    write(
      "presets/acme/page.md",
      "# Acme\n\nAbout it.\n\n## Connect it\n\n1. Enter `https://<your host>/hooks/acme`.\n\n## More\n",
    );
    expect((await run("presets", "show", "presets/../presets/acme")).stderr).toContain("Did you mean");
    expect((await run("presets", "show", "./presets/acme")).stdout).toMatch(/^# Acme\n\nAbout it\./);
  });

  test("enable writes the path as the configuration's folder sees it, once; disable and copy find it", async () => {
    const enabled = await run("presets", "enable", "./presets/acme", "--generate", "--yes");
    expect(enabled).toMatchObject({ code: 0, stdout: expect.stringContaining("URL: https://<your host>/hooks/acme") });
    expect(readUses()).toEqual([{ use: "./presets/acme", with: { secret: "${file:.webhooks/acme-secret}" } }]);
    expect((await run("check")).code).toBe(0);
    const again = await run("presets", "enable", path.join(folder, "presets/acme"), "--generate", "--yes");
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('The preset "acme" is already used') });

    mkdirSync(path.join(folder, "config"));
    const below = path.join("config", "webhooks.json5");
    expect((await run("presets", "enable", "./presets/acme", "--generate", "--yes", "--config", below)).code).toBe(0);
    expect(readUses(below)).toMatchObject([{ use: "../presets/acme" }]);

    const copied = await run("presets", "copy", "./presets/acme");
    expect(copied).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('the use of the preset "acme" is removed'),
    });
    expect(existsSync(path.join(folder, "transforms/acme/message.hbs"))).toBe(true);
    expect((await run("presets", "disable", "./presets/acme", "--yes", "--config", below)).code).toBe(0);
    expect(readUses(below)).toEqual([]);
  });

  test("its samples run by its folder or one above", async () => {
    expect(await run("test", "presets/acme", "--update")).toMatchObject({ code: 0 });
    expect(
      JSON.parse(readFileSync(path.join(folder, "presets/acme/samples/failed.expected.json"), "utf8")),
    ).toMatchObject({
      event: "deploy.failed",
      actions: [{ message: "shop failed: exit code 1" }],
    });
    expect(await run("test", "presets")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("2 passed, 0 failed"),
    });
    write("presets/acme/message.hbs", "{{app}} is down\n");
    expect(await run("test", "presets", "acme/failed")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("+ "),
    });
  });

  test("transform new writes a type from its samples, and adds the transform to its use", async () => {
    await run("test", "presets/acme", "--update");
    const secret = { hooks: { presets: ["./presets/acme"] } };
    write("webhooks.json5", JSON.stringify(withTokens(secret)));
    const made = await run("transform", "new", "mine", "--preset", "./presets/acme", "--event", "deploy.failed");
    expect(made.code).toBe(0);
    expect(readUses()).toEqual([{ use: "./presets/acme", with: { transform: { module: "mine.ts" } } }]);
    const module = readFileSync(path.join(folder, "transforms/mine.ts"), "utf8");
    expect(module).toContain("interface Payload {");
    expect(module).toContain('if (event !== "deploy.failed") return undefined;');
    expect(module).not.toContain("hookline/presets");
    expect(await run("test", "mine", "--update")).toMatchObject({ code: 0 });
    expect(
      JSON.parse(readFileSync(path.join(folder, "transforms/mine.samples/failed.expected.json"), "utf8")),
    ).toMatchObject({ actions: [{ message: "shop failed: exit code 1" }] });
  });

  test("init takes it too", async () => {
    expect((await run("init", "--preset", "./presets/acme", "--yes", "--config", "webhooks.json5")).code).toBe(0);
    expect(readUses()).toMatchObject([{ use: "./presets/acme" }]);
  });

  test("what is missing is named", async () => {
    expect(await run("presets", "show", "./acme")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`the file ${path.join(folder, "acme/preset.json")} does not exist`),
    });
    expect((await run("presets", "enable", "acme")).stderr).toContain(
      'There is no preset "acme". Did you mean "./presets/acme"?',
    );
  });
});

test("a draft names only folders that are in use or below the configuration's", async () => {
  const outside = mkdtempSync(path.join(tmpdir(), "hookline-outside-"));
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(path.dirname(path.join(outside, "acme", name)), { recursive: true });
    writeFileSync(path.join(outside, "acme", name), text);
  }
  const service = await startService({ files: IN_PRESETS });
  try {
    const diff = (use: string): Promise<string> =>
      fetch(`${service.url}/api/diff`, {
        method: "POST",
        headers: { authorization: `Bearer ${GATEWAY_TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ config: { hooks: { presets: [{ use, with: { secret: "x" } }] } } }),
      }).then((response) => response.text());
    expect(await diff("./presets/acme")).toContain('"events":0');
    for (const use of [path.join(outside, "acme"), path.join(outside, "none"), "../none"]) {
      expect(await diff(use)).toContain(`In a draft, the preset \\"${use}\\" must be below ${service.folder}`);
    }
  } finally {
    await service.close();
    rmSync(outside, { recursive: true });
  }
});
