import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { createReloader } from "./reload.ts";

test("close does not wait for a build, and a runtime that is complete later is not used", async () => {
  const building = Promise.withResolvers<Runtime>();
  const replaced = vi.fn();
  const first = toRuntime(1);
  const reloader = createReloader({
    current: () => first,
    build: () => building.promise,
    watch: false,
    replaced,
    refused() {},
    telemetry: silentTelemetry,
  });
  const reload = reloader.reload();
  await reloader.close();

  const late = toRuntime(2);
  building.resolve(late);
  await expect(reload).rejects.toThrow("closed");
  expect(replaced).not.toHaveBeenCalled();
  expect(late.agent.close).toHaveBeenCalledOnce();
  expect(late.tools.close).toHaveBeenCalledOnce();
  expect(first.agent.close).not.toHaveBeenCalled();
});

test("a change during a build that fails leads to another one in the same reload", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-reload-"));
  const file = path.join(folder, "file");
  writeFileSync(file, "broken");
  const first = toRuntime(1, { folder, files: [file] });
  const noticed = vi.fn(() => first);
  const build = vi.fn(async (generation: number) => toRuntime(generation, { folder, files: [file] }));
  const replaced = vi.fn();
  const reloader = createReloader({
    current: noticed,
    build,
    watch: true,
    replaced,
    refused() {},
    telemetry: silentTelemetry,
  });
  onTestFinished(async () => {
    await reloader.close();
    rmSync(folder, { recursive: true });
  });
  // The second check of a new watch may find the file too new, and would find the change too.
  await sleep(500);
  for (const mock of [replaced, build]) mock.mockClear();
  build.mockImplementationOnce(async () => {
    noticed.mockClear();
    writeFileSync(file, "repaired");
    await expect.poll(() => noticed.mock.calls.length, { timeout: 20_000 }).toBeGreaterThan(0);
    throw new ConfigError([{ message: "It was broken." }]);
  });
  await reloader.reload();
  expect(build).toHaveBeenCalledTimes(2);
  expect(replaced).toHaveBeenCalledOnce();
  expect(reloader.lastFailure()).toBeUndefined();
});

test("a reload that fails for a reason that passes is tried again, until it succeeds", async () => {
  const codes = ["EMFILE", "ENFILE", "EIO", "ENOMEM", "ENOENT"];
  const tries = codes.map((code) => {
    const build = vi.fn(async (generation: number) => toRuntime(generation));
    build.mockRejectedValueOnce(new ConfigError([{ message: `The file cannot be read: ${code}: open 'x'.` }]));
    const first = toRuntime(1);
    const replaced = vi.fn();
    const options = { current: () => first, build, watch: true, replaced, refused() {}, telemetry: silentTelemetry };
    return { code, replaced, reloader: createReloader(options) };
  });
  onTestFinished(async () => void (await Promise.all(tries.map(({ reloader }) => reloader.close()))));
  for (const { code, reloader } of tries) await expect(reloader.reload()).rejects.toThrow(code);
  const listUsed = (): string[] =>
    tries.filter(({ replaced }) => replaced.mock.calls.length > 0).map(({ code }) => code);
  await expect.poll(listUsed, { timeout: 20_000 }).toEqual(codes.slice(0, -1));
});

test("a warning is logged when it comes, not at each reload", async () => {
  let runtime = toRuntime(1, { warnings: ["old"] });
  const warn = vi.spyOn(silentTelemetry.log, "warn");
  onTestFinished(() => warn.mockRestore());
  const reloader = createReloader({
    current: () => runtime,
    build: async (generation) => toRuntime(generation, { warnings: ["old", "new"] }),
    watch: false,
    replaced: (next) => (runtime = next),
    refused() {},
    telemetry: silentTelemetry,
  });
  await reloader.reload();
  await reloader.reload();
  expect(warn.mock.calls.map(([, data]) => data)).toEqual([{ warning: "old" }, { warning: "new" }]);
});

describe("keys that only a restart changes", () => {
  const postgres = { url: "postgres://user:one@db/a", maxConnections: 10, commitTimeoutMs: 5000 };
  const started = { gateway: { role: "all" }, store: { postgres } };

  test.each([
    ["store.url", { store: { postgres: { ...postgres, url: "postgres://user:one@other/a" } } }],
    ["store.url", { store: {} }],
    ["store.password", { store: { postgres: { ...postgres, url: "postgres://user:two@db/a" } } }],
    ["store.leaseUrl", { store: { postgres: { ...postgres, leaseUrl: "postgres://user:one@direct/a" } } }],
    ["store.maxConnections", { store: { postgres: { ...postgres, maxConnections: 11 } } }],
    ["store.commitTimeout", { store: { postgres: { ...postgres, commitTimeoutMs: 6000 } } }],
    ["gateway.role", { gateway: { role: "ingress" } }],
  ])("%s leads to a warning without its value, and the role stays that of the start", async (key, change) => {
    const runtime = await reloadAs(started, { ...started, ...change });
    const message = "This setting was changed, which takes effect at the next start.";
    expect(runtime?.warnings).toEqual([{ file: undefined, key, message }]);
    expect(runtime?.config.gateway.role).toBe("all");
  });

  async function reloadAs(before: object, after: object): Promise<Runtime | undefined> {
    const [first, next] = [toRuntime(1, { config: before }), toRuntime(2, { config: after })];
    const replaced = vi.fn<(runtime: Runtime) => void>();
    const reloader = createReloader({
      current: () => first,
      build: async () => next,
      watch: false,
      replaced,
      refused() {},
      telemetry: silentTelemetry,
    });
    await reloader.reload();
    return replaced.mock.lastCall?.[0];
  }
});

function toRuntime(
  generation: number,
  { folder = "", files = [] as string[], config: written = {}, warnings = [] as string[] } = {},
): Runtime {
  const config = { baseDir: folder, gateway: {}, store: {}, log: {}, ...written };
  const readAt = Date.now();
  const agent = { close: vi.fn() };
  const parts = { folders: [], isPart: () => false };
  const place = (problem: object) => problem;
  const problems = warnings.map((message) => ({ message }));
  const tools = { close: vi.fn() };
  return { generation, readAt, config, files, parts, place, warnings: problems, agent, tools } as never;
}
