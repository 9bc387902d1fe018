import { sign } from "@octokit/webhooks-methods";
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runWebhooks } from "./support/cli.ts";
import { type Service, startService } from "./support/service.ts";

const SECRET = "a-signing-secret-of-good-length";
const OWN_TOKEN = "the-token-of-one-sender-alone";
const BODY = '{"password":"hunter2"}';

let service: Service;
beforeAll(async () => {
  const toMapping = (scheme: string) => ({
    match: { path: scheme },
    auth: { scheme, secret: SECRET },
    messageTemplate: "x",
  });
  const gitea = {
    id: "gitea",
    match: { path: "gitea" },
    auth: { scheme: "token", secret: OWN_TOKEN },
    messageTemplate: "x",
  };
  service = await startService({ config: { hooks: { mappings: [toMapping("github"), toMapping("slack"), gitea] } } });
});
afterAll(() => service.close());

async function post(hook: string, headers: Record<string, string>): Promise<number> {
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body: BODY };
  return (await fetch(`${service.url}/hooks/${hook}`, init)).status;
}

const list = async (query = "") => (await service.api(`/api/rejections${query}`)).rejections;

/** Signs as Slack does, with a clock that is off. */
function signSlack(skewSeconds: number): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000) + skewSeconds);
  const mac = createHmac("sha256", SECRET).update(`v0:${timestamp}:${BODY}`).digest("hex");
  return { "x-slack-signature": `v0=${mac}`, "x-slack-request-timestamp": timestamp };
}

test("refused requests are listed, newest first, without bodies and header values", async () => {
  await post("github", {});
  await post("github", { "x-hub-signature-256": "sha256=short" });
  await post("github", { "x-hub-signature-256": await sign("a secret of someone else", BODY) });
  await service.post("nothing", {});
  await service.post("github", {}, { authorization: "Bearer a-wrong-token" });

  const rejections = await list();
  expect(rejections.map(({ hook, reason }: { hook: string; reason: string }) => [hook, reason])).toEqual([
    ["github", "wrong"],
    ["nothing", "no_such_hook"],
    ["github", "wrong"],
    ["github", "malformed"],
    ["github", "missing"],
  ]);
  expect(rejections[2]).toEqual({
    id: expect.any(String),
    at: expect.stringMatching(/^\d{4}-.*Z$/),
    hook: "github",
    method: "POST",
    reason: "wrong",
    message: "The signature is wrong.",
    client: "127.0.0.1",
    headers: expect.arrayContaining(["x-hub-signature-256", "content-type"]),
    size: BODY.length,
  });
  expect(JSON.stringify(rejections)).not.toMatch(/hunter2|sha256=|wrong-token/);
  expect(await list("?limit=1")).toEqual(rejections.slice(0, 1));
  expect((await service.post("github", {})).status).toBe(401);
});

test("a sender whose times are all off by the same amount is named", async () => {
  expect(await post("slack", signSlack(412))).toBe(401);
  expect((await list("?limit=1"))[0]).toMatchObject({ reason: "expired" });
  expect((await list("?limit=1"))[0]).not.toHaveProperty("hint");
  await post("slack", signSlack(412));
  expect((await list("?limit=1"))[0]).toMatchObject({
    reason: "expired",
    hint: expect.stringMatching(/^the sender's clock, or ours, is 41\d s off$/),
  });
  expect(await post("slack", signSlack(0))).toBe(202);
  await post("slack", signSlack(-900));
  expect((await list("?limit=1"))[0]).not.toHaveProperty("hint");
});

test("webhooks rejections prints them", async () => {
  const { code, stdout } = await runWebhooks(service.folder, "rejections", "--url", service.url, "--limit", "1");
  expect(code).toBe(0);
  expect(stdout.split("\n")[0]).toMatch(/^at +reason +hook +client +bytes +why$/);
  expect(stdout.split("\n")[1]).toMatch(/ expired +slack +127\.0\.0\.1 +22 /);
  const json = await runWebhooks(service.folder, "rejections", "--url", service.url, "--json");
  expect(JSON.parse(json.stdout)).toEqual(await list("?limit=50"));
});

test("the operator sees that a token is that of another hook, the sender does not", async () => {
  const answer = await service.post("wake", { text: "x" }, { authorization: `Bearer ${OWN_TOKEN}` });
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([401, expect.not.stringContaining("gitea")]);
  const hint = 'auth:gitea is valid for the hook "gitea", not for this one';
  expect((await list("?limit=1"))[0]).toMatchObject({ hook: "wake", reason: "wrong", hint });
  expect(await post("github", { authorization: `Bearer ${OWN_TOKEN}` })).toBe(401);
  expect((await list("?limit=1"))[0]).toMatchObject({ hook: "github", hint });
  expect(await post("github", { authorization: "Bearer nobody-has-it" })).toBe(401);
  expect((await list("?limit=1"))[0]).not.toHaveProperty("hint");
});

test("they survive a restart", async () => {
  const first = await startService();
  await first.post("wake", {}, { authorization: "Bearer wrong" });
  const { rejections } = await first.api("/api/rejections");
  const second = await first.restart();
  expect((await second.api("/api/rejections")).rejections).toEqual(rejections);
  expect((await second.api("/api/activity")).events.refused).toBe(1);
  await second.close();
});
