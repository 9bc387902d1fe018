/** Which of the mails that are posted are repeats, and where that is said. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";

let service: ServiceProcess;
beforeAll(async () => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "hookline-repeats-")), "webhooks.json5");
  const presets = [{ use: "mail", with: { deliver: false } }];
  writeFileSync(file, JSON.stringify(withTokens({ hooks: { presets }, log: { level: "info" } })));
  service = await startProcess(file);
});
afterAll(() => service.end("SIGTERM"));

/** A form program gives each order the same header. */
async function post(order: string): Promise<{ body: { runId: string }; isReplayed: boolean }> {
  const header = "Message-ID: <form@example.com>\r\nFrom: shop@example.com\r\nSubject: An order\r\n";
  const response = await fetch(`${service.url}/hooks/mail`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "message/rfc822" },
    body: `${header}Date: Fri, 20 Nov 2026 12:00:00 +0000\r\n\r\n${order}\r\n`,
  });
  const body: { runId: string } = JSON.parse(await response.text());
  return { body, isReplayed: response.headers.get("idempotency-replayed") === "true" };
}

async function countRepeats(): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
  return /^hookline_repeats_total\{hook="mail"\} (\d+)$/m.exec(text)?.[1];
}

test("each order runs, and a repeat is named in the answer, the log and the count", async () => {
  const orders = [await post("1 apple"), await post("2 pears"), await post("3 plums")];
  expect(new Set(orders.map(({ body }) => body.runId)).size).toBe(3);
  expect([orders.some(({ isReplayed }) => isReplayed), await countRepeats()]).toEqual([false, undefined]);

  const again = await post("2 pears");
  expect(again).toEqual({ ...orders[1], isReplayed: true });
  expect(await countRepeats()).toBe("1");
  await expect.poll(service.errors).toMatch(/"hook":"mail","count":1,"msg":"a repeat was not executed again"/);
});
