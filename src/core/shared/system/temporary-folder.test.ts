import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createFolderInAny, createTemporaryFolder } from "./temporary-folder.ts";

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), "parent-"));
});
afterEach(() => rmSync(parent, { recursive: true }));

test("only the folders of ended processes are removed", async () => {
  const gone = spawn(process.execPath, ["--version"]);
  await once(gone, "exit");
  const mine = createTemporaryFolder(parent);
  const stale = mine.replace(`-${process.pid}-`, `-${gone.pid}-`);
  const elsewhere = mine.replace(/hookline-\d+-\d+(?=-\w+$)/, `hookline-1-${gone.pid}`);
  const strange = path.join(parent, "hookline-notes");
  for (const folder of [stale, elsewhere, strange]) mkdirSync(folder);

  const second = createTemporaryFolder(parent);
  expect([mine, second, elsewhere, strange, stale].map((folder) => existsSync(folder))).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
});

test("the folder is in the first place that can hold it, preferably where other users can get to it", () => {
  const place = (name: string, mode: number): string => {
    const folder = path.join(parent, name);
    mkdirSync(folder);
    chmodSync(folder, mode);
    return folder;
  };
  chmodSync(parent, 0o755);
  const [secret, open] = [place("secret", 0o700), place("open", 0o755)];
  const inSecret = place("secret/open", 0o755);
  const file = path.join(parent, "file");
  writeFileSync(file, "");
  const missing = path.join(parent, "missing");
  const pick = (places: string[], needsOthers: boolean): string =>
    path.dirname(
      createFolderInAny(
        places.map((each) => () => each),
        { needsOthers },
      ),
    );
  expect(pick([missing, file, secret, open], false)).toBe(secret);
  expect(pick([missing, file, secret, inSecret, open], true)).toBe(open);
  expect(pick([secret, inSecret], true)).toBe(secret);
  const reasons = /there is no temporary folder: ENOENT.*missing.*ENOTDIR.*file/;
  for (const needsOthers of [false, true]) expect(() => pick([missing, file], needsOthers)).toThrow(reasons);
});
