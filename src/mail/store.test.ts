import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { describeMailStore } from "../../test/contracts/mail-store.ts";
import type { ConfigProblem } from "../core/errors.ts";
import { openMailStore } from "./store.ts";

describeMailStore("SQLite", openMailStore);

const mailbox = "imap://ann@mail.example.com";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-store-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("the state folder is private", async () => {
  const inner = path.join(folder, "state");
  await openAndClose(inner);
  expect(statSync(inner).mode & 0o777).toBe(0o700);
});

test("a killed process releases the mailbox", async () => {
  const store = path.join(import.meta.dirname, "store.ts");
  const script = `
    const { openMailStore } = await import(${JSON.stringify(store)});
    globalThis.kept = await openMailStore(${JSON.stringify({ folder, mailbox })});
    console.log("open");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  expect(await openMailStore({ folder, mailbox })).toBeUndefined();
  child.kill("SIGKILL");
  await once(child, "exit");
  await openAndClose();
});

describe("a file that cannot be used is an error that names it", () => {
  test("a damaged file", async () => {
    writeFileSync(path.join(folder, "mail.db"), "this is not a database ".repeat(100));
    expect(await problemOf()).toMatchObject({
      message: expect.stringContaining("the mail store cannot be used"),
      file: path.join(folder, "mail.db"),
      key: "store.path",
    });
  });

  test("the file of a newer program, which is not touched", async () => {
    await openAndClose();
    const before = change("PRAGMA user_version = 1000");
    expect((await problemOf()).message).toContain("schema version 1000");
    expect(readFileSync(path.join(folder, "mail.db"))).toEqual(before);
  });

  test("the file of another program or an unreleased version, which is not touched", async () => {
    const before = change("CREATE TABLE folders (mailbox TEXT); PRAGMA user_version = 1");
    expect((await problemOf()).message).toContain(
      "not a mail store of this program, or an unreleased version wrote it",
    );
    expect(readFileSync(path.join(folder, "mail.db"))).toEqual(before);
  });

  test("a folder that is a file", async () => {
    const file = path.join(folder, "file");
    writeFileSync(file, "");
    expect((await problemOf(file)).message).toContain("cannot be used");
  });

  test("and the mailbox is released", async () => {
    const file = path.join(folder, "mail.db");
    writeFileSync(file, "x".repeat(5000));
    await problemOf();
    rmSync(file);
    await expect(openAndClose()).resolves.toBeUndefined();
  });
});

/** Gives the bytes of the mail store after the change. */
function change(sql: string): Buffer {
  const file = path.join(folder, "mail.db");
  using database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
  return readFileSync(file);
}

async function openAndClose(at = folder): Promise<void> {
  const store = await openMailStore({ folder: at, mailbox });
  if (!store) throw new Error("the mailbox is locked");
  await store.close();
}

async function problemOf(at = folder): Promise<ConfigProblem> {
  const error = await openAndClose(at).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "ConfigError" });
  return (error as { problems: ConfigProblem[] }).problems[0]!;
}
