import {
  appendFileSync,
  chmodSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { runSaveStorm } from "./support/save-storm.ts";
import { GATEWAY_TOKEN, type Service, startService, withTokens } from "./support/service.ts";

const config = {
  hooks: { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" }, deliver: false }] },
};

/** For what must not be seen in between. */
const OFTEN = { interval: 15 };

let service: Service;
afterEach(() => service.close());

describe("a change applies without a restart", () => {
  test("of the configuration, replaced by a rename as editors do", async () => {
    service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
    const mappings = [{ match: { path: "x" }, messageTemplate: "from a template", deliver: false }];
    service.write("webhooks.json5~", JSON.stringify(withTokens({ hooks: { mappings } })));
    renameSync(path.join(service.folder, "webhooks.json5~"), path.join(service.folder, "webhooks.json5"));
    await expect.poll(message).toBe("from a template");
  });

  test("of a secret's file, replaced by a rename, and deleted for a moment", async () => {
    const mappings = [{ match: { path: "x" }, messageTemplate: "${file:secrets/word}", deliver: false }];
    service = await startService({
      config: { hooks: { mappings } },
      files: { "secrets/word": "one\n" },
      watch: true,
    });
    expect(await message()).toBe("one");
    service.write("secrets/word~", "two\n");
    renameSync(path.join(service.folder, "secrets/word~"), path.join(service.folder, "secrets/word"));
    await expect.poll(message).toBe("two");
    rmSync(path.join(service.folder, "secrets/word"));
    await waitFor(async () => (await service.api("/api/status")).lastReloadError !== null);
    expect(await message()).toBe("two");
    service.write("secrets/word", "three\n");
    await expect.poll(message).toBe("three");
  });

  test("of a secret's file that is written in two parts: the first alone is never used", async () => {
    const mappings = [{ match: { path: "x" }, messageTemplate: "${file:word}", deliver: false }];
    service = await startService({ config: { hooks: { mappings } }, files: { word: "the first word" }, watch: true });
    await sleep(500);
    service.write("word", "the");
    setTimeout(appendFileSync, 150, path.join(service.folder, "word"), " other");
    const used = new Set<string>();
    await expect
      .poll(async () => {
        used.add(await message());
        return [...used];
      }, OFTEN)
      .toContain("the other");
    expect([...used]).toEqual(["the first word", "the other"]);
    service.write("word", "short");
    await expect.poll(message).toBe("short");
  });

  test("of a folder that was deleted and created again", async () => {
    service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
    rmSync(path.join(service.folder, "transforms"), { recursive: true });
    await waitFor(async () => (await service.api("/api/status")).lastReloadError !== null);
    expect(await message()).toBe("one");
    service.write("transforms/x.ts", says("two"));
    await expect.poll(message).toBe("two");
    expect((await service.api("/api/status")).lastReloadError).toBeNull();
  });

  test("of files deleted and created again one by one, as by rsync --delete", async () => {
    const files = {
      "transforms/x.ts": 'import { text } from "./lib/text.ts";\nexport default () => ({ message: text });\n',
      "transforms/lib/text.ts": 'export const text = "one";\n',
    };
    service = await startService({ config, files, watch: true });
    rmSync(path.join(service.folder, "transforms/lib"), { recursive: true });
    await sleep(20);
    rmSync(path.join(service.folder, "transforms/x.ts"));
    await waitFor(async () => (await service.api("/api/status")).lastReloadError !== null);
    expect(await message()).toBe("one");
    service.write("transforms/x.ts", files["transforms/x.ts"]);
    await sleep(100);
    service.write("transforms/lib/text.ts", 'export const text = "two";\n');
    await expect.poll(message).toBe("two");
    expect((await service.api("/api/status")).lastReloadError).toBeNull();
  });

  test("of a mounted ConfigMap, by replacing its ..data link", async () => {
    const prepare = (folder: string): void => {
      writeVersion(folder, "..2026_01", says("one"));
      symlinkSync("..2026_01", path.join(folder, "mount/..data"));
      symlinkSync("..data/x.ts", path.join(folder, "mount/x.ts"));
    };
    const hooks = { ...config.hooks, transformsDir: "./mount" };
    service = await startService({ config: { hooks }, prepare, watch: true });
    for (const [version, text] of [
      ["..2026_02", "two"],
      ["..2026_03", "three"],
    ] as const) {
      const before = realpathSync(path.join(service.folder, "mount/..data"));
      writeVersion(service.folder, version, says(text));
      symlinkSync(version, path.join(service.folder, "mount/..data_tmp"));
      renameSync(path.join(service.folder, "mount/..data_tmp"), path.join(service.folder, "mount/..data"));
      rmSync(before, { recursive: true });
      await expect.poll(message).toBe(text);
    }
  });

  test("of a file that is written in pieces: the old one is used until it is complete, and after a syntax error", async () => {
    service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
    const [half, rest] = ["export default () => ({ mess", 'age: "two" });\n'];
    const file = openSync(path.join(service.folder, "transforms/x.ts"), "w");
    writeSync(file, half);
    await waitFor(async () => (await service.api("/api/status")).lastReloadError !== null);
    expect(await message()).toBe("one");
    writeSync(file, rest);
    closeSync(file);
    await expect.poll(message).toBe("two");
    expect((await service.api("/api/status")).lastReloadError).toBeNull();
    service.write("transforms/x.ts", "export default () => {\n  return {{ message: 1 };\n};\n");
    const { lastReloadError } = await waitFor(async () => {
      const status = await service.api("/api/status");
      return status.lastReloadError && status;
    });
    expect(lastReloadError).toMatchObject({ file: path.join(service.folder, "transforms/x.ts"), line: 2 });
    expect(lastReloadError.message).toMatch(/./);
    expect(lastReloadError.excerpt).toMatch(/ {2}2 \| {3}return \{\{ message: 1 \};\n +\| +\^$/);
    expect(await message()).toBe("two");
  });

  test("of a linked package of the workspace", async () => {
    const prepare = (folder: string): void => {
      mkdirSync(path.join(folder, "node_modules"));
      symlinkSync("../packages/shared", path.join(folder, "node_modules/shared"));
    };
    const files = {
      "package.json": '{ "workspaces": ["packages/*"] }',
      "packages/shared/package.json": '{ "name": "shared", "main": "text.ts" }',
      "packages/shared/text.ts": 'export const text = "one";\n',
      "transforms/x.ts": 'import { text } from "shared";\nexport default () => ({ message: text });\n',
    };
    service = await startService({ config, files, prepare, watch: true });
    expect(await message()).toBe("one");
    service.write("packages/shared/text.ts", 'export const text = "two";\n');
    await expect.poll(message).toBe("two");
  });

  test("while a file beside it is saved all the time", async () => {
    service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
    const saving = setInterval(() => service.write("transforms/other.ts", says("other")), 20);
    service.write("transforms/x.ts", says("two"));
    await expect.poll(message).toBe("two");
    clearInterval(saving);
  });

  test("only of files that the program reads, in a folder that has others too", async () => {
    const files = {
      "x.ts": 'import data from "./data.json";\nexport default () => ({ message: data.text });\n',
      "data.json": '{ "text": "one" }',
      "report.json": "{}",
    };
    service = await startService({ config: { hooks: { ...config.hooks, transformsDir: "." } }, files, watch: true });
    const generation = async (): Promise<number> => (await service.api("/api/status")).config.generation;
    // The files may be too new for the start to know that it has read them as they are.
    await sleep(500);
    const before = await generation();
    for (let line = 0; line < 5; line += 1) {
      expect((await service.post("x", {})).status).toBe(202);
      service.write("service.log", `line ${line}`);
      service.write("report.json", `{ "line": ${line} }`);
      await sleep(100);
    }
    expect(await generation()).toBe(before);
    service.write("data.json", '{ "text": "two" }');
    await expect.poll(message).toBe("two");
    expect(await generation()).toBe(before + 1);
  });

  test("after ten saves in a row the last one is used", async () => {
    service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
    for (let save = 0; save < 10; save += 1) {
      service.write("transforms/x.ts", says(`save ${save}`));
      await sleep(40);
    }
    await expect.poll(message).toBe("save 9");
  });
});

test("one invalid mapping among valid ones: no part of the change is used", async () => {
  service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
  const mappings = [
    { match: { path: "x" }, messageTemplate: "new" },
    { match: { path: "y" }, messageTemplate: "{{#if}" },
  ];
  service.write("webhooks.json5", JSON.stringify(withTokens({ hooks: { mappings } }), undefined, 2));
  const { lastReloadError } = await waitFor(async () => {
    const status = await service.api("/api/status");
    return status.lastReloadError && status;
  });
  expect(lastReloadError).toMatchObject({
    key: "hooks.mappings[1].messageTemplate",
    line: expect.any(Number),
  });
  expect(await message()).toBe("one");
});

describe("a reload that failed because of a file that it read for the first time succeeds once the file is", () => {
  const named = "${file:secrets/new/word}";
  const transform = { match: { path: "x" }, transform: { module: "x.ts" } };

  test.each([
    ["created: a secret", { messageTemplate: named }, {}, { "secrets/new/word": "two" }],
    ["created: a schema", { schema: "new.json" }, {}, { "new.json": "{}" }],
    ["fixed: a schema", { schema: "new.json" }, { "new.json": "{" }, { "new.json": "{}" }],
    ["created: a transform in a new folder", transform, {}, { "new/x.ts": says("two") }],
    ["fixed: a transform in a new folder", transform, { "new/x.ts": "{" }, { "new/x.ts": says("two") }],
    [
      "created: what a transform in a new folder imports",
      transform,
      { "new/x.ts": 'export { default } from "../new/lib/y.ts";' },
      { "new/lib/y.ts": says("two") },
    ],
  ])("%s", async (_what, mapping, broken, repaired) => {
    service = await startService({ config: toConfig({ messageTemplate: "one" }), watch: true });
    for (const [file, text] of Object.entries(broken)) service.write(file, text);
    service.write("webhooks.json5", JSON.stringify(withTokens(toConfig({ messageTemplate: "two", ...mapping }))));
    await failedAt();
    expect(await message()).toBe("one");
    for (const [file, text] of Object.entries(repaired)) service.write(file, text);
    await expect.poll(message).toBe("two");
  });

  function toConfig(mapping: object): UserConfig {
    return { hooks: { transformsDir: "new", mappings: [{ match: { path: "x" }, ...mapping }] } };
  }
});

test("a package is used once it is installed, after an upgrade, and after all were installed anew", async () => {
  const code = 'import { text } from "word";\nexport default () => ({ message: text });\n';
  service = await startService({ config, files: { "transforms/x.ts": says("none") }, watch: true });
  const install = (version: string, text: string): void => {
    // npm writes a package beside the old one, and renames it.
    const at = (name: string): string => path.join(service.folder, "node_modules", name);
    service.write("node_modules/.word-new/index.js", `export const text = ${JSON.stringify(text)};\n`);
    const manifest = { name: "word", version, type: "module", main: "index.js" };
    service.write("node_modules/.word-new/package.json", JSON.stringify(manifest));
    rmSync(at("word"), { recursive: true, force: true });
    renameSync(at(".word-new"), at("word"));
  };
  const slow = { timeout: 20_000 };
  service.write("transforms/x.ts", code);
  await failedAt();
  expect(await message()).toBe("none");
  install("1.0.0", "one");
  await expect.poll(message, slow).toBe("one");
  install("1.1.0", "two");
  await expect.poll(message, slow).toBe("two");
  rmSync(path.join(service.folder, "node_modules"), { recursive: true });
  await failedAt();
  install("1.1.0", "three");
  await expect.poll(message, slow).toBe("three");
  expect((await service.api("/api/status")).lastReloadError).toBeNull();
});

test("a save ends the build of a module that does not end", async () => {
  service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
  service.write("transforms/x.ts", `for (;;);\n${says("never")}`);
  const { folder } = service;
  await expect.poll(async () => (await service.api("/api/status")).sandbox.inFlight).toBeGreaterThan(0);
  writeFileSync(path.join(folder, "transforms/x.ts"), says("two"));
  const errors = new Set<unknown>();
  await expect
    .poll(async () => {
      errors.add((await service.api("/api/status")).lastReloadError);
      return message();
    }, OFTEN)
    .toBe("two");
  expect([...errors]).toEqual([null]);
});

test("what is saved together is used together, and no request fails while it is saved", async () => {
  const { saves, ...found } = await runSaveStorm({ saves: 6, pauseMs: () => 40 + Math.random() * 150 });
  service = found.service;
  expect(found).toMatchObject({ failed: 0, mixed: 0, last: saves });
});

test("a missing file fails one reload, not one after the other", async () => {
  const mappings = [{ match: { path: "x" }, messageTemplate: "${file:missing}" }];
  service = await startService({ watch: true });
  // The files may be too new for the start to know that it has read them as they are.
  await sleep(500);
  service.write("webhooks.json5", JSON.stringify(withTokens({ hooks: { mappings } })));
  const at = await failedAt();
  await sleep(1000);
  expect(await failedAt()).toBe(at);
});

test("a folder that is named instead of a file is not watched", async () => {
  const mappings = [{ match: { path: "x" }, messageTemplate: "${file:large}" }];
  service = await startService({ files: { "large/one.ts": "" }, watch: true });
  await sleep(500);
  service.write("webhooks.json5", JSON.stringify(withTokens({ hooks: { mappings } })));
  const at = await failedAt();
  await sleep(500);
  service.write("large/two.ts", "");
  await sleep(500);
  expect(await failedAt()).toBe(at);
});

test("a file with a time in the future causes no reload after the other", async () => {
  service = await startService({ config, files: { "transforms/x.ts": says("one") }, watch: true });
  const file = path.join(service.folder, "transforms/x.ts");
  service.write("transforms/x.ts", says("two"));
  utimesSync(file, new Date(), new Date(Date.now() + 1e9));
  await expect.poll(message).toBe("two");
  await sleep(500);
  const { generation } = (await service.api("/api/status")).config;
  await sleep(1000);
  expect((await service.api("/api/status")).config.generation).toBe(generation);
});

test("after a failure, a file whose permissions change is read again", async () => {
  const mappings = [{ match: { path: "x" }, schema: "schema.json" }];
  service = await startService({ files: { "schema.json": "{" }, watch: true });
  await sleep(500);
  service.write("webhooks.json5", JSON.stringify(withTokens({ hooks: { mappings } })));
  const at = await failedAt();
  await sleep(1000);
  expect(await failedAt()).toBe(at);
  chmodSync(path.join(service.folder, "schema.json"), 0o600);
  await expect.poll(failedAt).not.toBe(at);
});

test("a file may be replaced by a link to itself, and back", async () => {
  const mappings = [{ match: { path: "x" }, messageTemplate: "${file:word}" }];
  service = await startService({ config: { hooks: { mappings } }, files: { word: "one" }, watch: true });
  const file = path.join(service.folder, "word");
  rmSync(file);
  symlinkSync("word", file);
  await failedAt();
  await sleep(500);
  expect(await message()).toBe("one");
  rmSync(file);
  service.write("word", "two");
  await expect.poll(message).toBe("two");
});

test("a lock file of tools that does not exist causes no reload, and is read once it does", async () => {
  const runbooks = { kind: "mcp", url: "http://127.0.0.1:1", private: true, audience: "private" };
  service = await startService({ config: { agents: { tools: { runbooks } } } as UserConfig, watch: true });
  const generation = async (): Promise<number> => (await service.api("/api/status")).config.generation;
  await sleep(500);
  const before = await generation();
  await sleep(1000);
  expect(await generation()).toBe(before);
  service.write("tools.lock.json", '{ "version": 1, "sets": {} }');
  await expect.poll(generation).toBe(before + 1);
  await sleep(500);
  expect(await generation()).toBe(before + 1);
});

/** When the last reload failed. */
async function failedAt(): Promise<string> {
  const { lastReloadError } = await waitFor(async () => {
    const status = await service.api("/api/status");
    return status.lastReloadError && status;
  });
  return lastReloadError.at;
}

describe("a transform folder that links to", () => {
  test("/proc, /dev and /usr: nothing of them is watched, and reload works", async () => {
    const targets = ["/proc", "/dev", "/usr"];
    const prepare = (folder: string): void => {
      mkdirSync(path.join(folder, "transforms/lib"), { recursive: true });
      for (const target of targets) symlinkSync(target, path.join(folder, "transforms", path.basename(target)));
    };
    service = await startService({ config, files: { "transforms/x.ts": says("one") }, prepare, watch: true });
    expect(await message()).toBe("one");
    for (const target of targets) {
      symlinkSync(target, path.join(service.folder, "transforms/lib", `${path.basename(target)} later`));
    }
    service.write("transforms/x.ts", says("two"));
    await expect.poll(message).toBe("two");
    expect((await service.api("/api/status")).lastReloadError).toBeNull();
  });

  test("a file inside it: a change of the file is taken up", async () => {
    const prepare = (folder: string): void => {
      mkdirSync(path.join(folder, "transforms/real"), { recursive: true });
      symlinkSync("real/x.ts", path.join(folder, "transforms/x.ts"));
    };
    service = await startService({ config, files: { "transforms/real/x.ts": says("one") }, prepare, watch: true });
    service.write("transforms/real/x.ts", says("two"));
    await expect.poll(message).toBe("two");
  });
});

describe("a change that no event reports", () => {
  const swaps: [string, (folder: string) => void][] = [
    [
      "a folder above the project is swapped",
      (folder) => {
        renameSync(path.join(folder, "transforms"), path.join(folder, "old"));
        mkdirSync(path.join(folder, "transforms"));
        writeFileSync(path.join(folder, "transforms/x.ts"), says("two"));
      },
    ],
    [
      "a link becomes a folder",
      (folder) => {
        rmSync(path.join(folder, "linked"));
        mkdirSync(path.join(folder, "linked"));
        writeFileSync(path.join(folder, "linked/x.ts"), says("two"));
      },
    ],
    [
      "the folder behind a link is made anew",
      (folder) => {
        rmSync(path.join(folder, "real"), { recursive: true });
        mkdirSync(path.join(folder, "real"));
        writeFileSync(path.join(folder, "real/x.ts"), says("two"));
      },
    ],
    [
      "a file is replaced behind a hard link",
      (folder) => {
        writeFileSync(path.join(folder, "hard.ts"), says("two"));
      },
    ],
  ];

  test.each(swaps)("%s, and the watcher is alive after it", async (name, swap) => {
    const isLinked = name.includes("link") && !name.includes("hard");
    const prepare = (folder: string): void => {
      for (const made of ["transforms", "real"]) mkdirSync(path.join(folder, made), { recursive: true });
      symlinkSync("real", path.join(folder, "linked"));
      for (const file of ["transforms/x.ts", "real/x.ts"]) writeFileSync(path.join(folder, file), says("one"));
      if (name.includes("hard")) linkSync(path.join(folder, "transforms/x.ts"), path.join(folder, "hard.ts"));
    };
    const hooks = { ...config.hooks, transformsDir: isLinked ? "linked" : "transforms" };
    service = await startService({ config: { hooks }, prepare, watch: true });
    expect(await message()).toBe("one");
    swap(service.folder);
    await expect.poll(message, { timeout: 10_000 }).toBe("two");
    service.write(`${hooks.transformsDir}/x.ts`, says("three"));
    await expect.poll(message, { timeout: 10_000 }).toBe("three");
  });
});

function says(text: string): string {
  return `export default () => ({ message: ${JSON.stringify(text)} });\n`;
}

/** A version of a ConfigMap, in the layout of the kubelet. */
function writeVersion(folder: string, version: string, text: string): void {
  mkdirSync(path.join(folder, "mount", version), { recursive: true });
  writeFileSync(path.join(folder, "mount", version, "x.ts"), text);
}

/** The message that the hook creates now. */
async function message(): Promise<string> {
  const { actions } = await service.try("x", {});
  return actions[0].message;
}

test("a changed key that requires a restart leads to a warning", async () => {
  service = await startService();
  service.write("webhooks.json5", JSON.stringify(withTokens({ log: { level: "error" } })));
  await service.hookline.reload();
  const status = await service.api("/api/status");
  expect(status.config.warnings).toEqual([
    expect.stringMatching(/log\.level: This setting was changed, which takes effect at the next start\.$/),
  ]);
});

test("POST /api/reload answers with what was loaded, or why it was not", async () => {
  service = await startService({ config, files: { "transforms/x.ts": says("one") } });
  service.write("transforms/x.ts", says("two"));
  const ask = async () => {
    const answer = await fetch(`${service.url}/api/reload`, {
      method: "POST",
      headers: { authorization: `Bearer ${GATEWAY_TOKEN}` },
    });
    return { status: answer.status, body: await answer.json() };
  };
  const { config: used } = await service.api("/api/status");
  expect(await ask()).toMatchObject({
    status: 200,
    body: { ok: true, config: { generation: used.generation + 1, mappings: ["mapping-0"] } },
  });
  expect(await message()).toBe("two");
  service.write("transforms/x.ts", "export default () => (;");
  expect(await ask()).toMatchObject({
    status: 422,
    body: {
      ok: false,
      code: "reload_refused",
      error: expect.stringContaining("x.ts:1:23"),
      problems: [expect.objectContaining({ line: 1 })],
    },
  });
  expect(await message()).toBe("two");
});
