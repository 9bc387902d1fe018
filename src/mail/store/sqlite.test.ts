import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigError } from "../../errors.ts";
import { openMailStore } from "./sqlite.ts";
import type { MailStore } from "./store.ts";

const mailbox = "imap://ann@mail.example.com";

let folder: string;
let opened: MailStore[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-store-"));
  opened = [];
});
afterEach(() => {
  for (const store of opened) store.close();
  rmSync(folder, { recursive: true });
});

describe("what is settled is there after the next start", () => {
  test("the position, the ids and the mails set aside", () => {
    const first = open();
    const { startedAt } = first.lane("INBOX");
    expect(first.lane("INBOX")).toEqual({ startedAt, position: undefined, setAside: 0 });
    first.settle({ folder: "INBOX", ids: ["a", "b"], setAside: [setAside("b")], position: "2" });
    close(first);

    const second = open();
    expect(second.lane("INBOX")).toEqual({ startedAt, position: "2", setAside: 1 });
    expect(["a", "b", "c"].map(second.isKnown)).toEqual([true, true, false]);
  });

  test("without a position the old one stands", () => {
    const store = open();
    store.lane("INBOX");
    store.settle({ folder: "INBOX", ids: [], setAside: [], position: "1" });
    store.settle({ folder: "INBOX", ids: ["a"], setAside: [] });
    expect(store.lane("INBOX").position).toBe("1");
  });

  test("for each folder its own; an id for all of them", () => {
    const store = open();
    store.lane("INBOX");
    store.lane("Lists");
    store.settle({ folder: "Lists", ids: ["a"], setAside: [setAside("a")], position: "7" });
    expect(store.lane("INBOX")).toMatchObject({ position: undefined, setAside: 0 });
    expect(store.isKnown("a")).toBe(true);
  });

  test("for each mailbox its own", () => {
    const [ann, bob] = [open(), open({ mailbox: "imap://bob@mail.example.com" })];
    ann.lane("INBOX");
    bob.lane("INBOX");
    ann.settle({ folder: "INBOX", ids: ["a"], setAside: [], position: "1" });
    expect(bob.isKnown("a")).toBe(false);
    expect(bob.lane("INBOX").position).toBeUndefined();
  });

  test("all of it or nothing", () => {
    const store = open();
    store.lane("INBOX");
    const broken = { ...setAside("a"), code: null as unknown as string };
    expect(() => store.settle({ folder: "INBOX", ids: ["a"], setAside: [broken], position: "1" })).toThrow(/NOT NULL/);
    expect(store.isKnown("a")).toBe(false);
    expect(store.lane("INBOX").position).toBeUndefined();
  });
});

test("of too many ids the oldest are forgotten", () => {
  const store = open({ maxKnown: 3 });
  store.settle({ folder: "INBOX", ids: ["a", "b"], setAside: [] });
  store.settle({ folder: "INBOX", ids: ["b", "c", "d", "e"], setAside: [] });
  expect(["a", "b", "c", "d", "e"].map(store.isKnown)).toEqual([false, false, true, true, true]);
});

test("the files are not for others", () => {
  const inner = path.join(folder, "state");
  open({ folder: inner });
  expect(statSync(inner).mode & 0o777).toBe(0o700);
});

describe("one process has a mailbox", () => {
  test("until it closes the store", () => {
    const first = open();
    expect(openMailStore({ folder, mailbox })).toBeUndefined();
    close(first);
    open();
  });

  test("until it is killed", async () => {
    const store = path.join(import.meta.dirname, "sqlite.ts");
    const script = `
      const { openMailStore } = await import(${JSON.stringify(store)});
      globalThis.kept = openMailStore(${JSON.stringify({ folder, mailbox })});
      console.log("open");
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    expect(openMailStore({ folder, mailbox })).toBeUndefined();
    child.kill("SIGKILL");
    await once(child, "exit");
    open();
  });
});

describe("a file that cannot be used is an error that names it", () => {
  test("a damaged one", () => {
    writeFileSync(path.join(folder, "mail.db"), "this is no database, and was none ".repeat(100));
    expect(problemOf(() => open())).toMatchObject({
      message: expect.stringContaining("the mail store cannot be used"),
      file: path.join(folder, "mail.db"),
      key: "store.path",
    });
  });

  test("a later program's, which is left as it is", () => {
    const file = path.join(folder, "mail.db");
    const later = new DatabaseSync(file);
    later.exec("PRAGMA user_version = 2");
    later.close();
    const before = readFileSync(file);
    expect(problemOf(() => open()).message).toContain("schema version 2");
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(folder).filter((name) => name.startsWith("mail.db"))).toEqual(["mail.db"]);
  });

  test("a folder that is a file", () => {
    const file = path.join(folder, "file");
    writeFileSync(file, "");
    expect(problemOf(() => open({ folder: file })).message).toContain("cannot be used");
  });

  test("and the mailbox is free after that", () => {
    const file = path.join(folder, "mail.db");
    writeFileSync(file, "x".repeat(5000));
    expect(() => open()).toThrow(ConfigError);
    rmSync(file);
    open();
  });
});

function open(options: Partial<Parameters<typeof openMailStore>[0]> = {}): MailStore {
  const store = openMailStore({ folder, mailbox, ...options });
  if (!store) throw new Error("the mailbox is taken");
  opened.push(store);
  return store;
}

function close(store: MailStore): void {
  store.close();
  opened = opened.filter((other) => other !== store);
}

function setAside(id: string) {
  return { id, status: 400, code: "invalid_payload", eventId: undefined, at: 1, tries: 1 };
}

function problemOf(call: () => unknown) {
  try {
    call();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems[0] ?? { message: "" };
    throw error;
  }
  throw new Error("nothing was thrown");
}
