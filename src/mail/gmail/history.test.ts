import { describe, expect, test } from "vitest";
import { FOLLOW_OPTIONS, GMAIL } from "../../../test/support/gmail/stub.ts";
import type { GmailApi } from "./api.ts";
import { readBacklog, readHistory } from "./history.ts";
import type { Step } from "./look.ts";
import type { Backlog } from "./position.ts";

describe("read history", () => {
  type Page = Awaited<ReturnType<GmailApi["history"]>>;

  /** Gmail's API with this history, each mail named after its id: records and pages that the emulator never makes. */
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

  async function read(pages: Record<string, Page>): Promise<Step[]> {
    const steps: Step[] = [];
    const position = { historyId: "100", readAt: 5 };
    for await (const step of readHistory(createApi(pages), position, FOLLOW_OPTIONS)) steps.push(step);
    return steps;
  }

  const added = (id: string, ...mails: string[]) => ({
    id,
    messagesAdded: mails.map((mail) => ({ message: { id: mail } })),
  });

  const summary = ({ mails, position, remaining }: Step) => [
    mails.map(({ mail }) => mail.id).join(""),
    position.historyId,
    remaining,
  ];

  test("a record that several batches share is dealt with after the last of them", async () => {
    const steps = await read({
      first: {
        historyId: "110",
        history: [added("101", "a"), added("102", "b", "c", "d"), added("103", "e")],
      },
    });
    expect(steps.map(summary)).toEqual([
      ["ab", "101", 3],
      ["cd", "102", 1],
      ["e", "103", 0],
      ["", "110", 0],
    ]);
  });

  test("pages are one history, which ends where it did for the first of them", async () => {
    const steps = await read({
      first: { historyId: "110", nextPageToken: "2", history: [added("101", "a")] },
      2: { historyId: "120", nextPageToken: "3", history: [] },
      3: { historyId: "130", history: [added("112", "b"), added("113", "a")] },
    });
    expect(steps.map(summary)).toEqual([
      ["ab", "112", 0],
      ["", "113", 0],
    ]);
  });

  test("nothing new moves the position only", async () => {
    expect((await read({ first: { historyId: "104" } })).map(summary)).toEqual([["", "104", 0]]);
  });

  test("a record without an id, a mail without one and labels other than the inbox are passed over", async () => {
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

  test("a position that is not known any more becomes one of now, with what came since the day before it", async () => {
    const [step] = await read({});
    expect(step).toMatchObject({
      mails: [],
      position: { historyId: "500", backlog: { since: 0, given: [] } },
    });
  });
});

describe("read backlog", () => {
  /** Gmail's API with these mails, newest first as it lists them; `at` undefined: it was deleted since. */
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

  async function read(api: GmailApi, backlog: Backlog): Promise<Step[]> {
    const steps: Step[] = [];
    const position = { historyId: "1", readAt: 5, backlog };
    for await (const step of readBacklog(api, position, FOLLOW_OPTIONS)) steps.push(step);
    return steps;
  }

  const idsOf = ({ mails }: Step): string[] => mails.map(({ mail }) => mail.id);

  test("a batch of deleted mails changes nothing", async () => {
    const api = createApi([
      { id: "d", at: 400 },
      { id: "c", at: 300 },
      { id: "b", at: undefined },
      { id: "a", at: undefined },
    ]);
    const [first, last] = await read(api, { since: 100, given: [] });
    expect(first && idsOf(first)).toEqual(["c", "d"]);
    expect(first?.position.backlog).toEqual({ since: 300, given: ["c", "d"] });
    expect(last?.position).toEqual({ historyId: "1", readAt: 5 });
  });

  test("what is listed out of order is not lost where the reading stops in between", async () => {
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

  test("a position stays small, however many mails there are", async () => {
    const api = createApi(
      Array.from({ length: 1000 }, (_, index) => ({ id: `18c5f7a6b2d9${index}`, at: 2000 - index })),
    );
    const steps = await read(api, { since: 0, given: [] });
    expect(steps.flatMap(idsOf)).toHaveLength(1000);
    for (const { position } of steps) expect(Buffer.byteLength(JSON.stringify(position))).toBeLessThan(4096);
  });
});
