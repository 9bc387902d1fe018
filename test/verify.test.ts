/** `webhooks presets verify`: one signed event, or why it was refused. */
import { createHmac } from "node:crypto";
import { sign } from "@octokit/webhooks-methods";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startWebhooks } from "./support/cli.ts";
import { startVendor, TOKEN } from "./support/vendors/hook-vendors.ts";
import { type Service, startService } from "./support/service.ts";

const SECRET = "a-signing-secret-of-good-length";
const BODY = '{"zen":"Keep it logically awesome."}';

let service: Service;
beforeEach(async () => {
  service = await startService({ config: { hooks: { presets: [{ use: "github", with: { secret: SECRET } }] } } });
});
afterEach(() => service.close());

async function post(hook: string, secret: string, headers: Record<string, string> = {}): Promise<void> {
  const signature = await sign(secret, BODY);
  const all = {
    "content-type": "application/json",
    "x-github-event": "push",
    "x-hub-signature-256": signature,
    ...headers,
  };
  await fetch(`${service.url}/hooks/${hook}`, { method: "POST", headers: all, body: BODY });
}

async function verify(cause: () => Promise<unknown>, wait = "60") {
  // Earlier events do not count.
  await post("github", SECRET, { "x-github-delivery": "earlier" });
  const running = startWebhooks(service.folder, ["presets", "verify", "github", "--wait", wait, "--url", service.url]);
  await expect.poll(running.stdout).toContain(`Waiting up to ${wait} s`);
  await cause();
  return running.ended;
}

test("a signed event is what it waits for", async () => {
  const { code, stdout } = await verify(() => post("github", SECRET));
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("The secret and the address are right."),
  });
  expect(stdout).toContain("no token is stored");
});

test("Zendesk is asked for a test delivery, which is signed and leads to no action", async () => {
  const vendor = await startVendor("zendesk");
  const url = "https://hooks.example.com/hooks/zendesk";
  vendor.add({ url, secret: SECRET });
  const options = { secret: SECRET, apiToken: TOKEN, apiUrl: vendor.url, place: "acme" };
  const config = { gateway: { publicUrl: "https://hooks.example.com" } };
  const zendesk = await startService({
    config: { ...config, hooks: { presets: [{ use: "zendesk", with: options }] } },
  });
  const args = ["presets", "verify", "zendesk", "--url", zendesk.url];
  const running = startWebhooks(zendesk.folder, args);
  await expect.poll(running.stdout).toContain("Zendesk was asked for a test delivery.");
  const { endpoint, payload } = vendor.hooks[0]!.body;
  expect(endpoint).toBe(url);
  const time = new Date().toISOString();
  const signature = createHmac("sha256", SECRET)
    .update(`${time}${String(payload)}`)
    .digest("base64");
  const headers = {
    "content-type": "application/json",
    "x-zendesk-webhook-signature": signature,
    "x-zendesk-webhook-signature-timestamp": time,
  };
  await fetch(`${zendesk.url}/hooks/zendesk`, { method: "POST", headers, body: String(payload) });
  expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("A signed event arrived") });
  const { runs } = await zendesk.api("/api/runs");
  expect(runs).toEqual([]);
  await zendesk.close();
  await vendor.close();
});

test.each<[string, () => Promise<unknown>, RegExp]>([
  [
    "another secret",
    () => post("github", "not the secret that is configured"),
    /Wrong secret, or a changed body: .*something on the way/,
  ],
  [
    "a proxy",
    () => post("github", "not the secret that is configured", { via: "1.1 proxy" }),
    /the proxy in front changes the body/,
  ],
  ["another path", () => post("githb", SECRET), /Wrong path: .* came to "githb", but the hook is "github"/],
  ["no signature", () => fetch(`${service.url}/hooks/github`, { method: "POST", body: BODY }), /no signature/],
])("%s is explained", async (_what, cause, expected) => {
  expect(await verify(cause)).toMatchObject({ code: 1, stdout: expect.stringMatching(expected) });
});

test("somebody else's refused requests do not end it, and in time it says that nothing arrived", async () => {
  const { code, stdout } = await verify(
    async () => void (await service.post("other", {}, { authorization: "Bearer x" })),
    "2",
  );
  expect({ code, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("Nothing arrived at /hooks/github."),
  });
});
