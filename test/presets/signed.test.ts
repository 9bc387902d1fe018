/**
 * Every preset over HTTP: its first and its last sample, signed as the sender signs, give the events beside them.
 * `presets.test.ts` has all samples, without HTTP.
 */
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findSamples, type Sample } from "../../src/service/authoring/sample.ts";
import { PRESETS_FOLDER } from "../../src/core/config/presets/file.ts";
import { isObject } from "../../src/core/shared/json.ts";
import { type Service, startService } from "../support/service.ts";
import { openTo } from "../support/preset.ts";
import { secretOf, signAs } from "../support/sign-preset.ts";
import { createVerifier } from "../support/signatures.ts";

/** Their bodies are not JSON, or only the sender can sign them. They have their own tests. */
const OTHERS = ["mail", "discord", "googlechat", "graph", "mailgun", "postmark", "sendgrid", "sns", "teams", "twilio"];
/** Answered before any mapping. */
const HANDSHAKES = ["calendar/sync", "github/ping", "notion/verification", "slack/url-verification"];
const sets = findSamples(PRESETS_FOLDER)
  .filter(({ name }) => !OTHERS.includes(name))
  .map(({ name, samples }) => {
    const own = samples.filter((sample) => !HANDSHAKES.includes(`${name}/${sample.name}`));
    return { name, samples: own.filter((_, index) => index === 0 || index === own.length - 1) };
  });
const presets = sets.map(({ name: use }) => ({
  use,
  with: { secret: secretOf(use), deliver: false, ...(use === "whatsapp" && { verifyToken: "v" }), ...openTo(use) },
}));

let service: Service;
beforeAll(async () => {
  // Each sender has an address of its own: together, their failures would be throttled.
  const gateway = { publicUrl: "https://hooks.example.com", trustedProxies: ["127.0.0.1"] };
  service = await startService({ config: { gateway, hooks: { presets } } });
});
afterAll(() => service.close());

describe.each(sets)("$name", ({ name, samples }) => {
  test.each(samples)("sample $name", async (sample) => {
    const response = await post(name, sample, secretOf(name));
    expect(response.status).toBeLessThan(300);
    const event = await service.api(`/api/events/${response.headers.get("x-request-id")}`);
    const expected = readJson(`${sample.file}.expected.json`);
    expect(event).toMatchObject({ credential: `auth:${name}`, event: expected["event"] });
    expect(event.actions).toHaveLength(Array(expected["actions"]).flat().length);
  });

  test("another secret is refused", async () => {
    const [sample] = samples;
    expect(sample && (await post(name, sample, `${secretOf(name)}0000`)).status).toBe(401);
  });
});

test("gitlab takes what a signing token signs, instead of the secret token", async () => {
  const secret = `whsec_${Buffer.from(secretOf("gitlab")).toString("base64")}`;
  const [sample] = sets.find(({ name }) => name === "gitlab")?.samples ?? [];
  const uses = [{ use: "gitlab", with: { secret, scheme: "standard-webhooks", deliver: false } }];
  const signing = await startService({ config: { hooks: { presets: uses } } });
  const body = new Uint8Array(readFileSync(`${sample?.file}.json`));
  const url = `${signing.url}/hooks/gitlab`;
  const verifier = await createVerifier("standard-webhooks", { secret });
  const signed = await verifier.sign?.({ method: "POST", url, body: Buffer.from(body), now: Date.now() });
  const send = (headers?: Record<string, string>) =>
    fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  expect((await send(signed?.headers)).status).toBe(202);
  expect((await send({ "x-gitlab-token": secret })).status).toBe(401);
  await signing.close();
});

async function post(name: string, { file }: Sample, secret: string): Promise<Response> {
  const body = readFileSync(`${file}.json`);
  const request = existsSync(`${file}.request.json`) ? readJson(`${file}.request.json`) : {};
  const signed = await signAs(name, body, { secret, url: `https://hooks.example.com/hooks/${name}` });
  const own = isObject(request["headers"]) ? request["headers"] : {};
  return fetch(`${service.url}/hooks/${name}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": `192.0.2.${sets.findIndex((set) => set.name === name)}`,
      ...own,
      ...signed.headers,
    },
    body: new Uint8Array(signed.body ?? body),
  });
}

function readJson(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(file, "utf8"));
}
