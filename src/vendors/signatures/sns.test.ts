import { createServer, type RequestListener } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { NOW, toRequest } from "../../../test/support/signatures.ts";
import { SNS_CERTIFICATE, SNS_CERTIFICATE_URL, SNS_TOPIC, toSnsMessage } from "../../../test/support/sns.ts";
import { createSnsVerifier, fetchText, toAwsUrl } from "./sns.ts";

const SUBSCRIBE_URL = `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${SNS_TOPIC}&Token=2336412f`;
const CONFIRMATION = { Type: "SubscriptionConfirmation", Token: "2336412f", SubscribeURL: SUBSCRIBE_URL };

/** Verifies with AWS replaced by `answer`; `fetched` are the addresses that were asked for. */
function createTestVerifier(answer: (url: URL) => string | Promise<string> = () => SNS_CERTIFICATE) {
  const fetched: string[] = [];
  const verifier = createSnsVerifier({ topicArn: [SNS_TOPIC], tolerance: "1h" }, async (url) => {
    fetched.push(url.href);
    return answer(url);
  });
  return { verifier, fetched };
}

function toMessage(message: Record<string, unknown>) {
  const headers = { "x-amz-sns-message-type": String(message["Type"]), "content-type": "text/plain; charset=UTF-8" };
  return toRequest({ headers, body: JSON.stringify(message) });
}

describe("a signed message", () => {
  test.each([
    ["SHA-256", {}],
    ["SHA-1", { SignatureVersion: "1" }],
    ["with a subject", { Subject: "Änderung" }],
    ["of a subscription", CONFIRMATION],
  ])("%s", async (_, fields) => {
    const { verifier, fetched } = createTestVerifier();
    expect(await verifier.verify(toMessage(toSnsMessage(fields, NOW)))).toBe("valid");
    expect(await verifier.verify(toMessage(toSnsMessage(fields, NOW)))).toBe("valid");
    expect(fetched).toEqual([SNS_CERTIFICATE_URL]);
  });

  test.each<[string, string, Record<string, unknown>]>([
    ["another text", "wrong", { Message: "Hello, world!" }],
    ["a subject that was not signed", "wrong", { Subject: "x" }],
    ["the other hash", "wrong", { SignatureVersion: "1" }],
    ["no such hash", "malformed", { SignatureVersion: "3" }],
    ["no signature", "malformed", { Signature: "" }],
    ["a text that is no text", "malformed", { Message: { a: 1 } }],
    [
      "a certificate of someone else",
      "malformed",
      { SigningCertURL: "https://sns.eu-west-1.amazonaws.com.evil.com/x.pem" },
    ],
  ])("changed: %s", async (_, reason, change) => {
    const { verifier } = createTestVerifier();
    const message = { ...toSnsMessage({}, NOW), ...change };
    expect(await verifier.verify(toMessage(message))).toMatchObject({ reason });
  });

  test("of another topic: nothing is fetched", async () => {
    const { verifier, fetched } = createTestVerifier();
    const message = toSnsMessage({ TopicArn: "arn:aws:sns:eu-west-1:666666666666:mine" }, NOW);
    expect(await verifier.verify(toMessage(message))).toMatchObject({ reason: "wrong" });
    expect(fetched).toEqual([]);
  });

  test("of two hours ago", async () => {
    const { verifier } = createTestVerifier();
    const message = toSnsMessage({}, NOW - 7_200_000);
    expect(await verifier.verify(toMessage(message))).toMatchObject({ reason: "expired", skewSeconds: -7200 });
  });

  test("the certificate cannot be fetched: later it can", async () => {
    let isDown = true;
    const { verifier } = createTestVerifier(() => {
      if (isDown) throw new Error("timeout");
      return SNS_CERTIFICATE;
    });
    const request = toMessage(toSnsMessage({}, NOW));
    expect(await verifier.verify(request)).toMatchObject({ reason: "unavailable" });
    isDown = false;
    expect(await verifier.verify(request)).toBe("valid");
  });

  test("strangers cannot make it fetch many certificates at once", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { verifier, fetched } = createTestVerifier(() => promise);
    const results = Array.from({ length: 20 }, async (_, index) => {
      const SigningCertURL = `https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-${index}.pem`;
      return verifier.verify(toMessage({ ...toSnsMessage({}, NOW), SigningCertURL }));
    });
    resolve("none");
    expect(await Promise.all(results)).toEqual(Array(20).fill(expect.objectContaining({ reason: "unavailable" })));
    expect(fetched).toHaveLength(4);
  });
});

describe("the address of AWS", () => {
  test.each([
    ["http://sns.eu-west-1.amazonaws.com/"],
    ["https://sns.eu-west-1.amazonaws.com:8443/"],
    ["https://user@sns.eu-west-1.amazonaws.com/"],
    ["https://sns.eu-west-1.amazonaws.com.evil.com/"],
    ["https://evil.com/sns.eu-west-1.amazonaws.com/"],
    ["https://s3.eu-west-1.amazonaws.com/"],
    ["https://sns.s3-us-west-2.amazonaws.com/"],
    ["https://sns.s3-website-us-west-2.amazonaws.com/"],
    ["https://sns.execute-api.us-west-2.amazonaws.com/"],
    ["https://sns.amazonaws.com/"],
    ["https://sns.eu-west-1.amazonaws.com/other"],
    ["file:///etc/passwd"],
    ["nothing"],
    [undefined],
    [{}],
  ])("refused: %j", (text) => {
    expect(toAwsUrl(text, (pathname) => pathname === "/")).toBeUndefined();
  });

  test.each([
    "https://sns.eu-west-1.amazonaws.com/?a=1",
    "https://sns.cn-north-1.amazonaws.com.cn/",
    "https://sns.us-gov-west-1.amazonaws.com/",
  ])("%s", (text) => {
    expect(toAwsUrl(text, (pathname) => pathname === "/")?.href).toBe(text);
  });
});

describe("a subscription", () => {
  test("is confirmed", async () => {
    const { verifier, fetched } = createTestVerifier((url) => (url.pathname === "/" ? "<ok/>" : SNS_CERTIFICATE));
    const request = toMessage(toSnsMessage(CONFIRMATION, NOW));
    expect(verifier.presents(request)).toBe(true);
    const result = await verifier.verify(request);
    expect(await verifier.handshake?.(request, result)).toMatchObject({
      status: 200,
      note: expect.stringContaining(SNS_TOPIC),
    });
    expect(fetched).toEqual([SNS_CERTIFICATE_URL, new URL(SUBSCRIBE_URL).href]);
  });

  test.each<[string, number | undefined, Record<string, unknown>]>([
    ["only at AWS", 400, { ...CONFIRMATION, SubscribeURL: "https://evil.com/?Action=ConfirmSubscription" }],
    [
      "with no other action",
      400,
      { ...CONFIRMATION, SubscribeURL: "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe" },
    ],
    ["a notification is none", undefined, {}],
  ])("%s", async (_, status, fields) => {
    const { verifier, fetched } = createTestVerifier();
    const request = toMessage(toSnsMessage(fields, NOW));
    const answer = await verifier.handshake?.(request, await verifier.verify(request));
    expect(answer?.status).toBe(status);
    expect(fetched).toEqual([SNS_CERTIFICATE_URL]);
  });

  test("with a wrong signature nothing is fetched", async () => {
    const { verifier, fetched } = createTestVerifier();
    const request = toMessage(toSnsMessage(CONFIRMATION, NOW));
    expect(await verifier.handshake?.(request, { reason: "wrong", message: "" })).toBeUndefined();
    expect(fetched).toEqual([]);
  });

  test("that cannot be confirmed now is answered 503, so that SNS sends it again", async () => {
    const { verifier } = createTestVerifier((url) => {
      if (url.pathname === "/") throw new Error("timeout");
      return SNS_CERTIFICATE;
    });
    const request = toMessage(toSnsMessage(CONFIRMATION, NOW));
    expect(await verifier.handshake?.(request, "valid")).toMatchObject({ status: 503 });
  });

  test("that ended is acknowledged", async () => {
    const { verifier } = createTestVerifier();
    const request = toMessage(toSnsMessage({ ...CONFIRMATION, Type: "UnsubscribeConfirmation" }, NOW));
    expect(await verifier.handshake?.(request, await verifier.verify(request))).toMatchObject({ status: 200 });
  });
});

describe("fetching a document", () => {
  let close: () => void = () => {};
  afterEach(() => close());

  async function serve(listener: RequestListener): Promise<URL> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    close = () => {
      server.closeAllConnections();
      server.close();
    };
    const address = server.address();
    return new URL(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`);
  }

  test("gives its text", async () => {
    expect(await fetchText(await serve((_, response) => response.end(SNS_CERTIFICATE)))).toBe(SNS_CERTIFICATE);
  });

  test.each<[string, RequestListener, RegExp]>([
    ["a redirect", (_, response) => response.writeHead(302, { location: "/other" }).end(), /fetch failed/],
    ["an error", (_, response) => response.writeHead(404).end(), /answered 404/],
    ["an endless document", (_, response) => writeForever(response), /more than 65536 bytes/],
  ])("rejects %s", async (_, listener, message) => {
    await expect(fetchText(await serve(listener))).rejects.toThrow(message);
  });

  function writeForever(response: Parameters<RequestListener>[1]): void {
    while (!response.destroyed && response.write(Buffer.alloc(16_384)));
    if (!response.destroyed) response.once("drain", () => writeForever(response));
  }
});
