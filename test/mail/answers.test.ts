/** Who gets the answer to a mail. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { HOOK_TOKEN, type Service, startService } from "../support/service.ts";

const SECRET = "postmark:a-password";
const email = { host: "mail.example.com", from: "agent@example.com", dryRun: true, allow: ["*@example.com"] };

let service: Service;
beforeAll(async () => {
  const presets = ["mail", "postmark"].map((use) => ({
    use,
    with: { channel: "source", ignore: { automatic: true }, ...(use === "postmark" && { secret: SECRET }) },
  }));
  service = await startService({ config: { hooks: { presets }, channels: { email } } });
});
afterAll(() => service.close());

/** Posts a mail as it is. Resolves to the answer, and whom the reply would be sent to. */
async function post(...header: string[]): Promise<{ status: number; body: { error?: string }; recipient?: string }> {
  const lines = [`Message-ID: <${crypto.randomUUID()}@example.com>`, "Subject: The report", ...header];
  const response = await fetch(`${service.url}/hooks/mail`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "message/rfc822" },
    body: `${lines.join("\r\n")}\r\n\r\nWhere is the report?\r\n`,
  });
  const text = await response.text();
  const body: { error?: string; eventId?: string } = text === "" ? {} : JSON.parse(text);
  if (response.status !== 202) return { status: response.status, body };
  const { deliveries } = await service.settled(body.eventId ?? "");
  return { status: response.status, body, recipient: /sent to (\S+)/.exec(deliveries[0]?.error)?.[1] };
}

test.each([
  ["the sender", [], "ada@example.com"],
  ["the address in Reply-To, if it is allowed", ["Reply-To: Team <Team@example.com>"], "team@example.com"],
  ["the sender, if Reply-To is not allowed", ["Reply-To: eve@example.net"], "ada@example.com"],
  ["the sender, if Reply-To names several", ["Reply-To: bob@example.com, eve@example.com"], "ada@example.com"],
  ["the sender, if there are two Reply-To", ["Reply-To: a@example.com", "Reply-To: b@example.com"], "ada@example.com"],
  ["the sender, if Reply-To is the service itself", ["Reply-To: Agent+7@example.com"], "ada@example.com"],
  ["the sender, if Reply-To is no address", ["Reply-To: nobody"], "ada@example.com"],
])("an answer goes to %s", async (_, header, recipient) => {
  expect(await post("From: Ada <ada@example.com>", ...header)).toMatchObject({ status: 202, recipient });
});

const NOT_ALLOWED = "The reply will not be delivered: to is not among the recipients of channels.email.allow.";

test("a sender who is not allowed gets no answer, but may name an address that is", async () => {
  const unanswered = { status: 202, body: { warnings: [NOT_ALLOWED] }, recipient: undefined };
  expect(await post("From: eve@example.net")).toMatchObject(unanswered);
  expect(await post("From: eve@example.net", "Reply-To: eve@example.org")).toMatchObject(unanswered);
  const recipient = "team@example.com";
  expect(await post("From: form@example.net", `Reply-To: ${recipient}`)).toMatchObject({ status: 202, recipient });
});

test("a mail from the service's own address gets no answer", async () => {
  const warnings = ["The reply will not be delivered: the recipient is the service itself."];
  expect(await post("From: agent@example.com")).toMatchObject({ body: { warnings }, recipient: undefined });
});

test("the secret of a mail service says nothing about a sender", async () => {
  const send = async (from: string): Promise<unknown> => {
    const response = await fetch(`${service.url}/hooks/postmark`, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(SECRET).toString("base64")}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ From: from, FromFull: { Email: from }, Subject: "Hello", TextBody: "Send it to me." }),
    });
    return Object(await response.json()).warnings;
  };
  expect(await send("eve@example.net")).toEqual([NOT_ALLOWED]);
  expect(await send("ada@example.com")).toBeUndefined();
});

test.each(["Auto-Submitted: auto-replied", "Precedence: bulk", "List-Id: <news.example.com>", "Return-Path: <>"])(
  "with ignore.automatic, a mail with %s is skipped before an agent is asked",
  async (header) => {
    expect(await post("From: ada@example.com", header)).toEqual({ status: 204, body: {} });
  },
);
