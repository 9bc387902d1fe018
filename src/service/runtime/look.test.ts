import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLook, type Look } from "./look.ts";

let folder: string;
let look: Look | undefined;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-look-"));
});
afterEach(() => {
  look?.close();
  rmSync(folder, { recursive: true, force: true });
});

const changed = vi.fn<(files: string[]) => void>();

async function follow(...paths: string[]): Promise<void> {
  changed.mockReset();
  const isRelevant = (file: string): boolean => file.endsWith(".ts");
  look = createLook({ isRelevant, isIgnored: (inner) => inner.endsWith("node_modules"), changed });
  look.follow(paths);
  // The first look tells nothing.
  await new Promise((resolve) => setTimeout(resolve, 100));
}

const found = (): string[] => changed.mock.calls.flat(2);
const POLL = { interval: 50, timeout: 5000 };

test("a new file is found beside others, whatever the clock of its file system says, and one that does not count is not", async () => {
  mkdirSync(path.join(folder, "inner/node_modules"), { recursive: true });
  writeFileSync(path.join(folder, "q.js"), "");
  await follow(folder);
  for (const name of ["notes.txt", "inner/node_modules/x.ts"]) writeFileSync(path.join(folder, name), "");
  const file = path.join(folder, "inner/q.ts");
  writeFileSync(file, "");
  utimesSync(file, 1, 1);
  await expect.poll(found, POLL).toEqual([file]);
});

test("a missing file that appears, one that is replaced, and a folder that is swapped are found", async () => {
  const [missing, file, inner] = ["missing", "file", "inner"].map((name) => path.join(folder, name));
  mkdirSync(inner!);
  writeFileSync(file!, "one");
  await follow(missing!, file!, inner!);
  writeFileSync(missing!, "");
  writeFileSync(path.join(folder, "next"), "one");
  renameSync(path.join(folder, "next"), file!);
  renameSync(inner!, path.join(folder, "old"));
  mkdirSync(inner!);
  await expect.poll(found, POLL).toEqual([missing, file, inner]);
});

test("a change that was reported is not found again", async () => {
  const [one, two] = ["one.ts", "two.ts"].map((name) => path.join(folder, name));
  for (const file of [one!, two!]) writeFileSync(file, "");
  await follow(folder, one!);
  for (const file of [one!, two!]) writeFileSync(file, "changed");
  look?.expect([one!]);
  await expect.poll(found, POLL).toEqual([two]);
});

test("a file that counts only from now on is not found until it changes", async () => {
  const [data, module] = ["data.json", "q.ts"].map((name) => path.join(folder, name));
  writeFileSync(data!, "{}");
  let isRelevant = (file: string): boolean => file.endsWith(".ts");
  changed.mockReset();
  look = createLook({ isRelevant: (file) => isRelevant(file), isIgnored: () => false, changed });
  look.follow([folder]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  isRelevant = () => true;
  writeFileSync(module!, "");
  await expect.poll(found, POLL).toEqual([module]);
  writeFileSync(data!, "{ }");
  await expect.poll(found, POLL).toEqual([module, data]);
});
