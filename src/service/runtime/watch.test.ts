import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLog } from "../../core/telemetry/log.ts";
import { createWatcher, type Watcher } from "./watch.ts";

let folder: string;
let watcher: Watcher;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-watch-"));
});

afterEach(async () => {
  await watcher.close();
  rmSync(folder, { recursive: true });
});

test("changes in the state folder are ignored, even inside a followed folder", async () => {
  const stateDir = path.join(folder, ".webhooks");
  mkdirSync(stateDir);
  writeFileSync(path.join(stateDir, "journal.db"), "one");
  const changed = await follow([folder], { stateDir });
  appendFileSync(path.join(stateDir, "journal.db"), "two");
  await sleep(300);
  expect(changed).not.toHaveBeenCalled();
});

test("a link in a followed folder is not followed to a place outside", async () => {
  const [root, outside] = [path.join(folder, "root"), path.join(folder, "outside")];
  for (const made of [root, outside]) mkdirSync(made);
  writeFileSync(path.join(outside, "file"), "one");
  symlinkSync(outside, path.join(root, "folder"));
  symlinkSync(path.join(outside, "file"), path.join(root, "file"));
  const changed = await follow([root]);
  appendFileSync(path.join(outside, "file"), "two");
  writeFileSync(path.join(outside, "new"), "one");
  await sleep(300);
  expect(changed).not.toHaveBeenCalled();
  rmSync(path.join(root, "file"));
  writeFileSync(path.join(root, "file"), "a file of the folder now");
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
});

test("a followed file may itself be a link to any place", async () => {
  const [root, outside] = [path.join(folder, "root"), path.join(folder, "outside")];
  mkdirSync(root);
  writeFileSync(outside, "one");
  symlinkSync(outside, path.join(root, "file"));
  const changed = await follow([root, path.join(root, "file")]);
  appendFileSync(outside, "two");
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
});

test("a link on the way to a followed path may be replaced, in one step or two", async () => {
  for (const name of ["one", "two", "three"]) {
    mkdirSync(path.join(folder, name, "lib"), { recursive: true });
    writeFileSync(path.join(folder, name, "lib/file"), name);
  }
  const link = path.join(folder, "current");
  symlinkSync("one", link);
  const changed = await follow([path.join(link, "lib"), path.join(link, "lib/file")]);
  symlinkSync("two", path.join(folder, "next"));
  renameSync(path.join(folder, "next"), link);
  await expect.poll(() => changed.mock.calls.flat(2)).toContain(link);
  changed.mockClear();
  await sleep(300);
  appendFileSync(path.join(folder, "two/lib/file"), "more");
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
  changed.mockClear();
  rmSync(link);
  symlinkSync(path.join(folder, "three"), link);
  await expect.poll(() => changed.mock.calls.flat(2)).toContain(link);
});

test("so it may after its folder was deleted and created again", async () => {
  const app = path.join(folder, "app");
  const link = path.join(app, "current");
  const fill = (): void => {
    for (const name of ["one", "two"]) {
      mkdirSync(path.join(app, name, "lib"), { recursive: true });
      writeFileSync(path.join(app, name, "lib/file"), name);
    }
    symlinkSync("one", link);
  };
  fill();
  const paths = [path.join(link, "lib"), path.join(link, "lib/file")];
  const changed = await follow(paths);
  // At once, as a script does: a folder that is away for longer is watched from the one above it.
  rmSync(app, { recursive: true });
  fill();
  await expect.poll(() => changed.mock.calls.length).toBeGreaterThan(0);
  watcher.follow(paths);
  await sleep(300);
  changed.mockClear();
  symlinkSync("two", path.join(app, "next"));
  renameSync(path.join(app, "next"), link);
  await expect.poll(() => changed.mock.calls.flat(2)).toContain(link);
});

test("a rename is one change, with both names", async () => {
  const [before, after] = [path.join(folder, "before.ts"), path.join(folder, "after.ts")];
  writeFileSync(before, "one");
  const changed = await follow([folder, before]);
  renameSync(before, after);
  await expect.poll(() => changed.mock.calls.flat(2)).toEqual(expect.arrayContaining([before, after]));
  expect(changed).toHaveBeenCalledTimes(1);
});

test.each(["nowhere", "one.ts"])("a file in a followed folder may become a link to %s", async (target) => {
  const [one, other] = [path.join(folder, "one.ts"), path.join(folder, "other.ts")];
  for (const file of [one, other]) writeFileSync(file, "");
  const changed = await follow([folder, other]);
  symlinkSync(target, path.join(folder, "next"));
  renameSync(path.join(folder, "next"), one);
  await sleep(500);
  changed.mockClear();
  watcher.follow([folder, other]);
  await sleep(500);
  expect(changed).not.toHaveBeenCalled();
});

test("a file that was deleted after it was read is one change", async () => {
  const file = path.join(folder, "file");
  writeFileSync(file, "one");
  const changed = vi.fn();
  const since = Date.now();
  rmSync(file);
  watcher = createWatcher({ since: () => since, changed, log: silentLog });
  watcher.follow([file], { polls: true });
  await expect.poll(() => changed.mock.calls.flat(2)).toEqual([file]);
  watcher.follow([file], { polls: true });
  await sleep(1000);
  expect(changed).toHaveBeenCalledTimes(1);
});

test("a missing file of a missing folder is one change once it exists", async () => {
  const file = path.join(folder, "lib/deep/file");
  const changed = await follow([file], { polls: true });
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "one");
  await expect.poll(() => changed.mock.calls.flat(2)).toEqual([file]);
  await sleep(1000);
  expect(changed.mock.calls).toEqual([[[file]]]);
});

/** Follows these paths, and waits until their watches are set up. */
async function follow(
  paths: string[],
  { stateDir, polls = false }: { stateDir?: string; polls?: boolean } = {},
): Promise<ReturnType<typeof vi.fn>> {
  const changed = vi.fn();
  let since = Infinity;
  watcher = createWatcher({ since: () => since, changed, stateDir, log: silentLog });
  watcher.follow(paths, { polls });
  await sleep(300);
  since = Date.now();
  return changed;
}
