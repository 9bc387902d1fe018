import { describe, expect, test } from "vitest";
import { startGmail } from "../../../test/support/gmail.ts";
import { googleError } from "../../../test/support/gmail/pubsub.ts";
import { startJsonServer } from "../../../test/support/json-server.ts";
import type { Mailbox } from "../../config/schema/generated.ts";
import { describeMailSource, type MailSourceUnderTest } from "../../contracts/mail.ts";
import { createGmail } from "./gmail.ts";

describeMailSource({ describe, test }, "gmail", open);

const ANN: Mailbox = {
  kind: "gmail",
  user: "Ann.Lee@Example.com",
  oauth: { clientId: "c", refreshToken: "r" },
};

test("knows the mailbox and its own mails by the address", () => {
  expect(createGmail({ source: ANN })).toMatchObject({
    name: "gmail",
    mailbox: "gmail://ann.lee@example.com",
    addresses: ["ann.lee@example.com"],
    folders: ["mailbox"],
  });
});

test.each<[string, Partial<Mailbox>]>([
  ["needs `user`", { user: undefined }],
  ["needs `user`", { user: "ann" }],
  ["needs `oauth`", { oauth: undefined }],
  ["needs `topic`", { subscription: "projects/p/subscriptions/s" }],
  ["needs `topic`", { push: { audience: "a", serviceAccount: "s" } }],
  [
    "one of them has to go",
    {
      topic: "projects/p/topics/t",
      subscription: "projects/p/subscriptions/s",
      push: { audience: "a", serviceAccount: "s" },
    },
  ],
])("takes no settings that cannot work: %s", (message, more) => {
  expect(() => createGmail({ source: { ...ANN, ...more } })).toThrow(message);
});

async function open(): Promise<MailSourceUnderTest> {
  const gmail = await startGmail();
  const off = await startJsonServer(({ path }) =>
    path === "/token"
      ? { status: 200, body: { access_token: "t", expires_in: 3600 } }
      : googleError(400, "FAILED_PRECONDITION", "Mail service not enabled", "failedPrecondition"),
  );
  const from = (source: Partial<Mailbox>) => createGmail({ source: { ...gmail.source, ...source }, pollMs: 20 });
  const { oauth } = gmail;
  return {
    source: from({}),
    refused: from({ oauth: { ...oauth, refreshToken: "withdrawn" } }),
    missing: from({ oauth: { ...oauth, tokenUrl: `${off.url}token` }, apiUrl: off.url }),
    unreachable: from({ apiUrl: "http://127.0.0.1:1" }),
    async deliver(mail, receivedAt) {
      await gmail.deliver(mail, { receivedAt: receivedAt?.getTime() });
    },
    cut: async () => gmail.cut(),
    forgetPositions: () => gmail.forgetHistory(),
    async close() {
      await gmail.close();
      await off.close();
    },
  };
}
