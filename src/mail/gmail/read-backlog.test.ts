import { expect, test } from "vitest";
import { FOLLOW_OPTIONS, GMAIL } from "../../../test/support/gmail/stub.ts";
import type { GmailApi } from "./gmail-api.ts";
import type { Backlog } from "./position.ts";
import { readBacklog } from "./read-backlog.ts";
import type { Step } from "./step.ts";

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
