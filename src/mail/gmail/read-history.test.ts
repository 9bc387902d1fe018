import { expect, test } from "vitest";
import { FOLLOW_OPTIONS, GMAIL } from "../../../test/support/gmail/stub.ts";
import type { GmailApi } from "./gmail-api.ts";
import { readHistory } from "./read-history.ts";
import type { Step } from "./step.ts";

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
    first: { historyId: "110", history: [added("101", "a"), added("102", "b", "c", "d"), added("103", "e")] },
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
  expect(step).toMatchObject({ mails: [], position: { historyId: "500", backlog: { since: 0, given: [] } } });
});
