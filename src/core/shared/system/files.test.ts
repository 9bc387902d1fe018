import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { createFolder, readRegularFile, replaceFile, tryFolder } from "./files.ts";

const special = mkdtempSync(path.join(tmpdir(), "hookline-files-"));
afterAll(() => rmSync(special, { recursive: true }));

const pipe = path.join(special, "pipe");
const link = path.join(special, "link");
execFileSync("mkfifo", [pipe]);
symlinkSync(pipe, link);

test.skipIf(process.platform !== "linux")("a folder that its parent refuses is refused at once", () => {
  for (const folder of ["/proc/x", "/proc/x/y/z"]) {
    expect(() => createFolder(folder)).toThrow("ENOENT");
    expect(() => tryFolder(folder)).toThrow("ENOENT");
  }
});

test("a folder is tried without leaving anything", () => {
  const root = mkdtempSync(path.join(tmpdir(), "hookline-try-"));
  const folder = path.join(root, "a/b");
  tryFolder(folder);
  expect(readdirSync(root)).toEqual([]);
  createFolder(folder, 0o700);
  tryFolder(folder);
  expect(readdirSync(folder)).toEqual([]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  writeFileSync(path.join(folder, "file"), "");
  for (const act of [tryFolder, createFolder]) {
    expect(() => act(path.join(folder, "file/c"))).toThrow(/^ENOTDIR: not a directory.*file.c/);
  }
  rmSync(root, { recursive: true });
});

test.each([pipe, link, "/dev/zero", "/dev/null", special])("%s is refused at once", (file) => {
  expect(() => readRegularFile(file, 10)).toThrow("it is not a regular file");
});

test("a file of the limit's size is read, one byte more is refused", () => {
  const file = path.join(special, "text");
  writeFileSync(file, "0123456789");
  expect(readRegularFile(file, 10).toString()).toBe("0123456789");
  expect(() => readRegularFile(file, 9)).toThrow("it is over 9 bytes");
});

test.runIf(existsSync("/proc/self/maps"))("a file is read whole that does not know its size", () => {
  expect(readRegularFile("/proc/self/maps", 10_000_000).toString()).toContain("[stack]");
});

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-replace-"));
  file = path.join(folder, "webhooks.json5");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a file keeps its permissions, and no other file remains", () => {
  writeFileSync(file, "old");
  chmodSync(file, 0o640);
  replaceFile(file, "new", { expected: "old" });
  expect(readFileSync(file, "utf8")).toBe("new");
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(folder)).toEqual(["webhooks.json5"]);
});

test("a link is followed", () => {
  writeFileSync(path.join(folder, "real"), "old");
  symlinkSync("real", file);
  replaceFile(file, "new", { expected: "old" });
  expect(readlinkSync(file)).toBe("real");
  expect(readFileSync(path.join(folder, "real"), "utf8")).toBe("new");
});

test("a file that has changed is not replaced", () => {
  writeFileSync(file, "changed");
  expect(() => replaceFile(file, "new", { expected: "old" })).toThrow(/changed in the meantime/);
  expect(() => replaceFile(file, "new", { expected: null })).toThrow(/changed in the meantime/);
  expect(readFileSync(file, "utf8")).toBe("changed");
  expect(readdirSync(folder)).toEqual(["webhooks.json5"]);
});

test("a secret file and its new folder are for the user alone", () => {
  const secret = path.join(folder, ".webhooks/mail-password");
  replaceFile(secret, "first", { mode: 0o600 });
  chmodSync(secret, 0o644);
  replaceFile(secret, "second", { mode: 0o600 });
  expect(readFileSync(secret, "utf8")).toBe("second");
  expect(statSync(secret).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(secret)).mode & 0o777).toBe(0o700);
});
