/** Every request that a vendor's library accepts is right for Hookline too, and the reverse. `npm run test:vendor-sdks`. */
import https from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSnsVerifier } from "../../src/vendors/signatures/sns.ts";
import { CERTIFICATE } from "../support/certificate.ts";
import { createDiscord, createSendGrid, createVerifier, toRequest } from "../support/signatures.ts";
import { SNS_CERTIFICATE, SNS_TOPIC, toSnsMessage } from "../support/sns.ts";
import { bodiesFor } from "./bodies.ts";
import { HOOK_URL, type SdkRequest, vendorSdks, publicKeySdks, SnsValidator } from "./vendor-sdks.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

describe.each(vendorSdks)("$library, $scheme", ({ scheme, options, bodies: kind, verify }) => {
  test("accepts what Hookline signs, and refuses another body", async () => {
    const verifier = await createVerifier(scheme, options);
    const now = Date.now();
    for (const body of bodiesFor({ bodies: kind }, now)) {
      // Paddle's library accepts a request for five seconds.
      const request = { method: "POST", url: HOOK_URL, body: Buffer.from(body), contentType: FORM["content-type"] };
      const parts = await verifier.sign?.({ ...request, now: Date.now() });
      const sent = { headers: parts?.headers ?? {}, body: parts?.body?.toString() ?? body };
      expect(await accepts(verify, sent)).toBe(true);
      expect(await accepts(verify, { ...sent, body: change(sent.body) })).toBe(false);
    }
  });
});

describe.each(vendorSdks.filter(({ sign }) => sign))("$library, $scheme", ({ scheme, options, bodies: kind, sign }) => {
  test("signs what Hookline accepts, and no other body", async () => {
    const verifier = await createVerifier(scheme, options);
    const now = Date.now();
    for (const body of bodiesFor({ bodies: kind }, now)) {
      const headers = { ...FORM, ...(await sign?.(body, now)) };
      const request = { headers, url: HOOK_URL, receivedAt: Date.now() };
      expect(await verifier.verify(toRequest({ ...request, body }))).toBe("valid");
      expect(await verifier.verify(toRequest({ ...request, body: change(body) }))).not.toBe("valid");
    }
  });
});

describe.each(publicKeySdks)("$library, $scheme", ({ scheme, verify }) => {
  test("accepts and refuses the same requests as Hookline", async () => {
    const sender = await (scheme === "discord" ? createDiscord() : createSendGrid());
    const now = Date.now();
    for (const body of bodiesFor({}, now)) {
      const { headers } = await sender.sign({ method: "POST", url: HOOK_URL, body: Buffer.from(body), now });
      for (const sent of [body, change(body)]) {
        const isRight = sent === body;
        const ours = await sender.verifier.verify(toRequest({ headers, body: sent, receivedAt: now }));
        expect(ours === "valid").toBe(isRight);
        expect(await accepts((request) => verify(request, sender.publicKey), { headers, body: sent })).toBe(isRight);
      }
    }
  });
});

describe("sns-validator, sns", () => {
  // The library fetches the certificate from a server of ours. Its address is not signed.
  const server = https.createServer(CERTIFICATE, (_, response) => response.end(SNS_CERTIFICATE));
  const { ca } = https.globalAgent.options;
  beforeAll(async () => {
    https.globalAgent.options.ca = CERTIFICATE.cert;
    await new Promise<void>((resolve) => server.listen(0, resolve));
  });
  afterAll(() => {
    https.globalAgent.options.ca = ca;
    server.closeAllConnections();
    server.close();
  });

  test("accepts and refuses the same messages as Hookline", async () => {
    const verifier = createSnsVerifier({ topicArn: SNS_TOPIC, tolerance: "1h" }, async () => SNS_CERTIFICATE);
    const validator = new SnsValidator(/^localhost:\d+$/);
    const SigningCertURL = `https://localhost:${(server.address() as AddressInfo).port}/certificate.pem`;
    const now = Date.now();
    for (const [index, text] of bodiesFor({}, now).entries()) {
      const message = toSnsMessage({ Message: text, SignatureVersion: String(1 + (index % 2)) }, now);
      for (const sent of [message, { ...message, Message: change(text) }]) {
        const isRight = sent === message;
        const headers = { "x-amz-sns-message-type": "Notification" };
        const request = toRequest({ headers, body: JSON.stringify(sent), receivedAt: now });
        expect((await verifier.verify(request)) === "valid").toBe(isRight);
        const theirs = await new Promise((resolve) => {
          validator.validate({ ...sent, SigningCertURL }, (error: unknown) => resolve(!error));
        });
        expect(theirs).toBe(isRight);
      }
    }
  });
});

/** Another body that the library can read. */
function change(body: string): string {
  return body.endsWith("}") ? body.replace(/\}$/, " }") : `${body}1`;
}

async function accepts(verify: (request: SdkRequest) => unknown, request: SdkRequest): Promise<boolean> {
  try {
    return Boolean(await verify(request));
  } catch {
    return false;
  }
}
