import { expect, test } from "vitest";
import { GMAIL } from "../../../test/support/gmail/stub.ts";
import { MailError } from "../../errors.ts";
import type { GmailApi, MessageForm } from "./gmail-api.ts";
import { withTries } from "./with-tries.ts";

const { signal } = new AbortController();

/** Gmail's API, except that it answers for mails with this. */
function failing(status: number | undefined): { api: GmailApi; asked: MessageForm[]; mend(): void } {
  const asked: MessageForm[] = [];
  let isMended = false;
  return {
    asked,
    mend: () => (isMended = true),
    api: {
      ...GMAIL,
      async message(id, form) {
        asked.push(form);
        if (form === "headers" || isMended) return { id };
        throw new MailError("network", "It failed.", { cause: { response: { status } } });
      },
    },
  };
}

async function ask(api: GmailApi, times: number): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (let at = 0; at < times; at++) {
    answers.push(await api.message("1", "raw", signal).catch((error: MailError) => error.kind));
  }
  return answers;
}

test("a mail that Gmail fails over five times comes with its headers alone", async () => {
  const { api, asked } = failing(500);
  expect(await ask(withTries(api), 7)).toEqual([...Array(5).fill("network"), { id: "1" }, { id: "1" }]);
  expect(asked).toEqual([...Array(5).fill("raw"), "headers", "headers"]);
});

test("one that it gives in between is as good as new", async () => {
  const { api, asked, mend } = failing(503);
  const patient = withTries(api);
  await ask(patient, 4);
  mend();
  expect(await ask(patient, 2)).toEqual([{ id: "1" }, { id: "1" }]);
  expect(asked).not.toContain("headers");
});

test.each([undefined, 401, 403, 429])("what is no fault of the mail does not count: %s", async (status) => {
  const { api, asked } = failing(status);
  expect(await ask(withTries(api), 8)).toEqual(Array(8).fill("network"));
  expect(asked).not.toContain("headers");
});
