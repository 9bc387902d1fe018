import { describe, expect, test } from "vitest";
import { FOLLOW_OPTIONS, GMAIL } from "../../../test/support/gmail/stub.ts";
import type { GmailApi } from "./api.ts";
import { type Backlog, type PositionedBatch, parsePosition, readBacklog, readHistory } from "./history.ts";

describe("readHistory", () => {
  type Page = Awaited<ReturnType<GmailApi["history"]>>;

  /** Gmail's API with this history. The emulator does not make such records and pages. */
  function createApi(pages: Record<string, Page>): GmailApi {
    return {
      ...GMAIL,
      profile: async () => ({ historyId: "500" }),
      history: async ({ pageToken }) => pages[pageToken ?? "first"],
      message: async (id) => ({
        id,
        internalDate: "1000",
        raw: Buffer.from(`Message-ID: <${id}>\r\n\r\n`).toString("base64url"),
      }),
    };
  }

  async function read(pages: Record<string, Page>): Promise<PositionedBatch[]> {
    const batches: PositionedBatch[] = [];
    const position = { historyId: "100", readAt: 5, begunAt: 3 };
    for await (const batch of readHistory(createApi(pages), position, FOLLOW_OPTIONS)) batches.push(batch);
    return batches;
  }

  const added = (id: string, ...mails: string[]) => ({
    id,
    messagesAdded: mails.map((mail) => ({ message: { id: mail } })),
  });

  const summary = ({ mails, position, remaining }: PositionedBatch) => [
    mails.map(({ mail }) => mail.messageId).join(""),
    position.historyId,
    remaining,
  ];

  test("a record that several batches share is processed after the last of them", async () => {
    const batches = await read({
      first: {
        historyId: "110",
        history: [added("101", "a"), added("102", "b", "c", "d"), added("103", "e")],
      },
    });
    expect(batches.map(summary)).toEqual([
      ["ab", "101", 3],
      ["cd", "102", 1],
      ["e", "103", 0],
      ["", "110", 0],
    ]);
  });

  test("pages are one history, which ends where the first page says", async () => {
    const batches = await read({
      first: { historyId: "110", nextPageToken: "2", history: [added("101", "a")] },
      2: { historyId: "120", nextPageToken: "3", history: [] },
      3: { historyId: "130", history: [added("112", "b"), added("113", "a")] },
    });
    expect(batches.map(summary)).toEqual([
      ["ab", "112", 0],
      ["", "113", 0],
    ]);
  });

  test("compares records as large numbers", async () => {
    const history = [added("179518051848910062798", "a"), added("179518051848910062797", "b")];
    const batches = await read({ first: { historyId: "99", history } });
    expect(batches.at(-1)?.position.historyId).toBe("179518051848910062798");
  });

  test("moves only the position if nothing is new", async () => {
    expect((await read({ first: { historyId: "104" } })).map(summary)).toEqual([["", "104", 0]]);
  });

  test("ignores records and mails without an id, and other labels than the inbox", async () => {
    const history = [
      { messagesAdded: [{ message: { id: "x" } }] },
      {
        id: "101",
        messagesAdded: [{ message: {} }, {}],
        labelsAdded: [{ labelIds: ["STARRED"], message: { id: "y" } }, {}],
      },
    ];
    expect((await read({ first: { historyId: "102", history } })).map(summary)).toEqual([["", "102", 0]]);
  });

  test("replaces an unknown position by the current one with a backlog", async () => {
    const [batch] = await read({});
    expect(batch).toMatchObject({
      mails: [],
      position: { historyId: "500", backlog: { since: 0, given: [] } },
    });
  });
});

describe("readBacklog", () => {
  /** Gmail's API with these mails, newest first. `at` undefined: the mail was deleted. */
  function createApi(mails: { id: string; at: number | undefined }[]): GmailApi {
    return {
      ...GMAIL,
      search: async () => ({ messages: mails.map(({ id }) => ({ id })) }),
      async message(id) {
        const at = mails.find((mail) => mail.id === id)?.at;
        const raw = Buffer.from(`Message-ID: <${id}>\r\n\r\n`).toString("base64url");
        return at === undefined ? undefined : { id, internalDate: String(at), raw };
      },
    };
  }

  async function read(api: GmailApi, backlog: Backlog): Promise<PositionedBatch[]> {
    const batches: PositionedBatch[] = [];
    const position = { historyId: "1", readAt: 5, begunAt: 3, backlog };
    for await (const batch of readBacklog(api, position, FOLLOW_OPTIONS)) batches.push(batch);
    return batches;
  }

  const idsOf = ({ mails }: PositionedBatch): string[] => mails.map(({ mail }) => mail.messageId);

  test("ignores a batch of deleted mails", async () => {
    const api = createApi([
      { id: "d", at: 400 },
      { id: "c", at: 300 },
      { id: "b", at: undefined },
      { id: "a", at: undefined },
    ]);
    const [first, last] = await read(api, { since: 100, given: [] });
    expect(first && idsOf(first)).toEqual(["c", "d"]);
    expect(first?.position.backlog).toEqual({ since: 300, given: ["c", "d"] });
    expect(last?.position).toEqual({ historyId: "1", readAt: 5, begunAt: 3 });
  });

  test("loses no mail that is listed out of order when it is interrupted", async () => {
    const api = createApi([
      { id: "c", at: 250 },
      { id: "d", at: 400 },
      { id: "b", at: 200 },
      { id: "a", at: 100 },
    ]);
    const [first] = await read(api, { since: 0, given: [] });
    expect(first && idsOf(first)).toEqual(["a", "b"]);
    const rest = await read(api, first?.position.backlog ?? { since: 0, given: [] });
    expect(rest.flatMap(idsOf)).toEqual(["d", "c"]);
  });

  test("a position stays small with many mails", async () => {
    const api = createApi(
      Array.from({ length: 1000 }, (_, index) => ({ id: `18c5f7a6b2d9${index}`, at: 2000 - index })),
    );
    const batches = await read(api, { since: 0, given: [] });
    expect(batches.flatMap(idsOf)).toHaveLength(1000);
    for (const { position } of batches) expect(Buffer.byteLength(JSON.stringify(position))).toBeLessThan(4096);
  });
});

describe("parsePosition", () => {
  test.each([
    { historyId: "179518051848910062797", readAt: 5, begunAt: 3 },
    { historyId: "1", readAt: 5, begunAt: 3, backlog: { since: 3, given: ["a"] } },
  ])("reads %o", (position) => {
    expect(parsePosition(JSON.stringify(position))).toEqual(position);
  });

  test.each([
    undefined,
    "",
    "{",
    "null",
    "[]",
    '{"historyId":"1"}',
    '{"historyId":5,"readAt":5}',
    '{"historyId":"x","readAt":5}',
  ])("rejects %s", (text) => {
    expect(parsePosition(text)).toBeUndefined();
  });
});
