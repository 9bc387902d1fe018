import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MailStore, RejectedMail } from "../../src/mail/store.ts";

/** Opens the store of a mailbox; undefined while another process has it. */
export type OpenMailStore = (options: {
  folder: string;
  mailbox: string;
  maxKnown?: number;
}) => Promise<MailStore | undefined>;

const ANN = "imap://ann@mail.example.com";
const BOB = "imap://bob@mail.example.com";

/** The contract of every mail store. */
export function describeMailStore(name: string, open: OpenMailStore): void {
  describe(`the ${name} mail store`, () => {
    let folder: string;
    let opened: MailStore[];
    beforeEach(() => {
      folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-store-"));
      opened = [];
    });
    afterEach(async () => {
      for (const store of opened) await store.close();
      rmSync(folder, { recursive: true });
    });

    test("remembers positions, ids and mails set aside after a restart", async () => {
      const first = await start();
      const { startedAt } = await first.folder("INBOX");
      expect(await first.folder("INBOX")).toEqual({ startedAt, position: undefined, setAside: 0 });
      await first.record({ folder: "INBOX", ids: ["a", "b"], setAside: [sampleSetAside("b")], position: "2" });
      await close(first);

      const second = await start();
      expect(await second.folder("INBOX")).toEqual({ startedAt, position: "2", setAside: 1 });
      expect(await second.findKnown(["a", "b", "c"])).toEqual(new Set(["a", "b"]));
      expect(await second.findKnown([])).toEqual(new Set());
    });

    test("keeps the position if none is given", async () => {
      const store = await start();
      await store.folder("INBOX");
      await store.record({ folder: "INBOX", ids: [], setAside: [], position: "1" });
      await store.record({ folder: "INBOX", ids: ["a"], setAside: [] });
      expect((await store.folder("INBOX")).position).toBe("1");
    });

    test("keeps a position per folder, and ids across folders", async () => {
      const store = await start();
      for (const each of ["INBOX", "Lists"]) await store.folder(each);
      await store.record({ folder: "Lists", ids: ["a"], setAside: [sampleSetAside("a")], position: "7" });
      expect(await store.folder("INBOX")).toMatchObject({ position: undefined, setAside: 0 });
      expect(await store.findKnown(["a"])).toEqual(new Set(["a"]));
    });

    test("keeps mailboxes apart", async () => {
      const [ann, bob] = [await start(), await start({ mailbox: BOB })];
      for (const store of [ann, bob]) await store.folder("INBOX");
      await ann.record({ folder: "INBOX", ids: ["a"], setAside: [], position: "1" });
      expect(await bob.findKnown(["a"])).toEqual(new Set());
      expect((await bob.folder("INBOX")).position).toBeUndefined();
    });

    test("stores a result completely or not at all", async () => {
      const store = await start();
      await store.folder("INBOX");
      const broken = { ...sampleSetAside("a"), code: null as unknown as string };
      const settled = store.record({ folder: "INBOX", ids: ["a"], setAside: [broken], position: "1" });
      await expect(settled).rejects.toBeInstanceOf(Error);
      expect(await store.findKnown(["a"])).toEqual(new Set());
      expect((await store.folder("INBOX")).position).toBeUndefined();
    });

    test("forgets the oldest ids if there are too many", async () => {
      const store = await start({ maxKnown: 3 });
      await store.record({ folder: "INBOX", ids: ["a", "b"], setAside: [] });
      await store.record({ folder: "INBOX", ids: ["b", "c", "d", "e"], setAside: [] });
      expect(await store.findKnown(["a", "b", "c", "d", "e"])).toEqual(new Set(["c", "d", "e"]));
    });

    test("keeps the refresh token that replaced the configured one", async () => {
      const first = await start();
      expect(await first.refreshTokens.find("configured")).toBeUndefined();
      await first.refreshTokens.replace("configured", "second");
      await first.refreshTokens.replace("configured", "third");
      await close(first);
      const { refreshTokens } = await start();
      expect(await refreshTokens.find("configured")).toBe("third");
      expect(await refreshTokens.find("another")).toBeUndefined();
      expect(await (await start({ mailbox: BOB })).refreshTokens.find("configured")).toBeUndefined();
    });

    test("belongs to one opener until it is closed", async () => {
      const first = await start();
      expect(await open({ folder, mailbox: ANN })).toBeUndefined();
      await close(first);
      await start();
    });

    async function start(options: { mailbox?: string; maxKnown?: number } = {}): Promise<MailStore> {
      const store = await open({ folder, mailbox: ANN, ...options });
      if (!store) throw new Error("the mailbox is locked");
      opened.push(store);
      return store;
    }

    async function close(store: MailStore): Promise<void> {
      await store.close();
      opened = opened.filter((other) => other !== store);
    }
  });
}

function sampleSetAside(id: string): RejectedMail {
  return { id, status: 400, code: "invalid_payload", eventId: undefined, at: 1, tries: 1 };
}
