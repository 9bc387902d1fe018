import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "../support/service.ts";
import { createSendGrid } from "../support/signatures.ts";

const MAILGUN_KEY = "the-signing-key-of-the-account";
const sendGrid = await createSendGrid();

let service: Service;
beforeAll(async () => {
  const common = { deliver: false, wakeMode: "next-heartbeat" };
  const presets = [
    { use: "postmark", with: { ...common, secret: "postmark:password" } },
    { use: "mailgun", with: { ...common, secret: MAILGUN_KEY } },
    { use: "sendgrid", with: { ...common, secret: sendGrid.publicKey } },
  ];
  service = await startService({ config: { hooks: { presets } } });
});
afterAll(() => service.close());

const post = (hook: string, init: RequestInit): Promise<Response> =>
  fetch(`${service.url}/hooks/${hook}`, { method: "POST", ...init });

/** The agent's turn for the only mail. */
async function toTurn(hook: string): Promise<string> {
  const { events } = await service.api(`/api/events?hook=${hook}`);
  const key = encodeURIComponent(events[0].actions[0].sessionKey);
  const read = async (): Promise<string> => JSON.stringify(await service.api(`/api/sessions/${key}`));
  await expect.poll(read).toContain("New mail");
  return read();
}

const mail = { From: "ann@example.com", Subject: "Order", TextBody: "Where is it?", MessageID: "p1" };

test("Postmark: JSON with credentials in the address", async () => {
  const authorization = `Basic ${btoa("postmark:password")}`;
  const init = { headers: { authorization, "content-type": "application/json" }, body: JSON.stringify(mail) };
  await post("postmark", init);
  expect(await toTurn("postmark")).toContain("Where is it?");
  expect((await post("postmark", init)).headers.get("idempotency-replayed")).toBe("true");
});

test("Mailgun: a form with files, and another token when it is repeated", async () => {
  const toForm = (token: string): FormData => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac("sha256", MAILGUN_KEY).update(timestamp).update(token).digest("hex");
    const form = new FormData();
    const fields = { timestamp, token, signature, from: "ann@example.com", subject: "Order", "Message-Id": "<m1@a>" };
    for (const [name, value] of Object.entries({ ...fields, "body-plain": "Where is it?" })) form.append(name, value);
    form.append("attachment-1", new File(["%PDF"], "order.pdf", { type: "application/pdf" }));
    return form;
  };
  expect((await post("mailgun", { body: toForm("a".repeat(50)) })).status).toBe(200);
  expect(await toTurn("mailgun")).toMatch(/Attachment: order\.pdf, application\/pdf, 4 bytes.*Where is it\?/);
  const again = await post("mailgun", { body: toForm("b".repeat(50)) });
  expect(again.headers.get("idempotency-replayed")).toBe("true");
});

test("SendGrid: a form whose fields have different charsets", async () => {
  const fields = [
    ["from", "ann@example.com"],
    ["subject", "Gr\xfc\xdfe"],
    ["text", "Where is it?"],
    ["charsets", '{"subject":"iso-8859-1","text":"UTF-8"}'],
  ];
  const parts = fields.map(
    ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const body = Buffer.from(`${parts.join("")}--b--\r\n`, "latin1");
  const signed = await sendGrid.sign({ method: "POST", url: "", body, now: Date.now() });
  await post("sendgrid", { headers: { "content-type": "multipart/form-data; boundary=b", ...signed.headers }, body });
  expect(await toTurn("sendgrid")).toMatch(/Subject: Grüße.*Where is it\?/);
});
