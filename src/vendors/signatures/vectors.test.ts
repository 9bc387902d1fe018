import { expect, test } from "vitest";
import { createVerifier, type RequestParts, toRequest } from "../../../test/support/signatures.ts";

/** Published by the vendors or in their libraries' tests. */
const vectors: [title: string, scheme: string, options: object, request: RequestParts][] = [
  [
    "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    "github",
    { secret: "It's a Secret to Everybody" },
    {
      headers: { "X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
      body: "Hello, World!",
    },
  ],
  [
    "https://circleci.com/docs/guides/integration/outbound-webhooks/",
    "hmac",
    { secret: "hunter123", header: "circleci-signature", list: { separator: ",", signature: "v1" } },
    {
      headers: { "circleci-signature": "v1=9be2242094a9a8c00c64306f382a7f9d691de910b4a266f67bd314ef18ac49fa" },
      body: "an-important-request-payload",
    },
  ],
  [
    "https://docs.slack.dev/authentication/verifying-requests-from-slack",
    "slack",
    { secret: "8f742231b10e8888abcd99yyyzzz85a5" },
    {
      headers: {
        "X-Slack-Request-Timestamp": "1531420618",
        "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      },
      body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
      receivedAt: 1_531_420_618_000,
    },
  ],
  [
    "https://github.com/standard-webhooks/standard-webhooks, the tests of its libraries",
    "standard-webhooks",
    { secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
    {
      headers: {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      },
      body: '{"test": 2432232314}',
      receivedAt: 1_614_265_330_000,
    },
  ],
  [
    "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
    "twilio",
    { secret: "12345" },
    {
      url: "https://mycompany.com/myapp.php?foo=1&bar=2",
      headers: {
        "X-Twilio-Signature": "0/KCTR6DLpKmkAf8muzZqo1nDgQ=",
        "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
      },
      body: "To=%2B18005551212&Digits=1234&CallSid=CA1234567890ABCDE&Caller=%2B12349013030&From=%2B12349013030",
    },
  ],
  [
    "the tests of @sendgrid/eventwebhook",
    "sendgrid",
    {
      secret:
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
    },
    {
      headers: {
        "X-Twilio-Email-Event-Webhook-Signature":
          "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
        "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
      },
      body: `${JSON.stringify([
        {
          email: "hello@world.com",
          event: "dropped",
          reason: "Bounced Address",
          sg_event_id: "ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",
          sg_message_id: "LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",
          "smtp-id": "<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>",
          timestamp: 1600112492,
        },
      ])}\r\n`,
      receivedAt: 1_600_112_502_000,
    },
  ],
];

test.each(vectors)("%s", async (_, scheme, options, request) => {
  const verifier = await createVerifier(scheme, options);
  expect(verifier.verify(toRequest(request))).toBe("valid");
  const wrong = Buffer.from(request.body ?? "").fill("x", 0, 1);
  expect(verifier.verify(toRequest({ ...request, body: wrong }))).toMatchObject({ reason: "wrong" });
});
