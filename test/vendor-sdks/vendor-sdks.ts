import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { SECRET } from "../support/signatures.ts";

const load = createRequire(import.meta.url);

export interface SdkRequest {
  headers: Record<string, string>;
  body: string;
}

/** A vendor's library beside the scheme of its sender. */
export interface VendorSdk {
  library: string;
  scheme: string;
  options: { secret: string; [option: string]: unknown };
  /** The texts that the library can read. Default: any. */
  bodies?: "json" | "linear" | "form" | "not empty";
  /** Throws or gives something false for a request that it refuses. */
  verify(request: SdkRequest): unknown;
  /** The headers that the vendor would send. */
  sign?(body: string, now: number): Record<string, string> | Promise<Record<string, string>>;
}

export const HOOK_URL = "https://hooks.example.com/hooks/in?a=b%20c";
const secret = "a secret of 1 sender";

const octokit = await import(
  /* @vite-ignore */ pathToFileURL(
    path.join(import.meta.dirname, "node_modules/@octokit/webhooks-methods/dist-node/index.js"),
  ).href
);
const stripe = load("stripe");
const { webhooks } = stripe.default ?? stripe;
const standard = new (load("standardwebhooks").Webhook)(SECRET);
const svix = new (load("svix").Webhook)(SECRET);
const slack = load("@slack/bolt/dist/receivers/verify-request.js");
const linear = new (load("@linear/sdk/webhooks").LinearWebhookClient)(secret);
const paddle = new (load("@paddle/paddle-node-sdk").Paddle)("key").webhooks;
const square = load("square").WebhooksHelper;
const hubspot = load("@hubspot/api-client").Signature;
const line = load("@line/bot-sdk");
const discord = load("discord-interactions");
const { EventWebhook } = load("@sendgrid/eventwebhook");
const twilio = load("twilio");
const mux = new (load("@mux/mux-node").default)({ tokenId: "id", tokenSecret: "token" }).webhooks;
const livekit = load("livekit-server-sdk");

/** Senders with a public key: the test signs. */
export const publicKeySdks: {
  library: string;
  scheme: "discord" | "sendgrid";
  verify(request: SdkRequest, publicKey: string): unknown;
}[] = [
  {
    library: "discord-interactions",
    scheme: "discord",
    verify: ({ headers, body }, publicKey) =>
      discord.verifyKey(body, headers["x-signature-ed25519"], headers["x-signature-timestamp"], publicKey),
  },
  {
    library: "@sendgrid/eventwebhook",
    scheme: "sendgrid",
    verify({ headers, body }, publicKey) {
      const webhook = new EventWebhook();
      const prefix = "x-twilio-email-event-webhook";
      const key = webhook.convertPublicKeyToECDSA(publicKey);
      return webhook.verifySignature(key, body, headers[`${prefix}-signature`], headers[`${prefix}-timestamp`]);
    },
  },
];

export const SnsValidator = load("sns-validator");

function toSeconds(now: number): string {
  return String(Math.floor(now / 1000));
}

const toStandardHeaders = (prefix: string, signer: typeof standard) => (body: string, now: number) => ({
  [`${prefix}-id`]: "msg_1",
  [`${prefix}-timestamp`]: toSeconds(now),
  [`${prefix}-signature`]: String(signer.sign("msg_1", new Date(now), body)),
});

const toParams = (body: string): Record<string, string | string[]> => {
  const form = new URLSearchParams(body);
  return Object.fromEntries([...new Set(form.keys())].map((name) => [name, form.getAll(name)]));
};

const toHubSpot = (body: string, timestamp: string | undefined, signature?: string) => ({
  signature,
  clientSecret: secret,
  requestBody: body,
  url: HOOK_URL,
  method: "POST",
  signatureVersion: "v3",
  timestamp: Number(timestamp),
});

export const vendorSdks: VendorSdk[] = [
  {
    library: "@octokit/webhooks-methods",
    scheme: "github",
    options: { secret },
    bodies: "not empty",
    verify: ({ headers, body }) => octokit.verify(secret, body, headers["x-hub-signature-256"]),
    sign: async (body) => ({ "x-hub-signature-256": await octokit.sign(secret, body) }),
  },
  {
    library: "stripe",
    scheme: "stripe",
    options: { secret },
    bodies: "not empty",
    verify: ({ headers, body }) => webhooks.signature.verifyHeader(body, headers["stripe-signature"], secret, 300),
    sign: (payload) => ({ "stripe-signature": webhooks.generateTestHeaderString({ payload, secret }) }),
  },
  {
    library: "standardwebhooks",
    scheme: "standard-webhooks",
    options: { secret: SECRET },
    verify({ headers, body }) {
      standard.verify(body, headers, { jsonParse: false });
      return true;
    },
    sign: toStandardHeaders("webhook", standard),
  },
  {
    library: "standardwebhooks",
    scheme: "mcp-events",
    options: { secret: SECRET },
    verify({ headers, body }) {
      standard.verify(body, headers, { jsonParse: false });
      return true;
    },
    sign: toStandardHeaders("webhook", standard),
  },
  {
    library: "svix",
    scheme: "svix",
    options: { secret: SECRET },
    bodies: "json",
    verify({ headers, body }) {
      svix.verify(body, headers);
      return true;
    },
    sign: toStandardHeaders("svix", svix),
  },
  {
    library: "@slack/bolt",
    scheme: "slack",
    options: { secret },
    verify: ({ headers, body }) =>
      slack.isValidSlackRequest({
        signingSecret: secret,
        body,
        headers: { ...headers, "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]) },
      }),
  },
  {
    library: "@linear/sdk",
    scheme: "linear",
    options: { secret },
    bodies: "linear",
    verify: ({ headers, body }) => linear.verify(Buffer.from(body), headers["linear-signature"]),
  },
  {
    library: "@paddle/paddle-node-sdk",
    scheme: "paddle",
    options: { secret },
    bodies: "not empty",
    verify: ({ headers, body }) => paddle.isSignatureValid(body, secret, headers["paddle-signature"]),
  },
  {
    library: "square",
    scheme: "square",
    options: { secret },
    verify: ({ headers, body }) =>
      square.verifySignature({
        requestBody: body,
        signatureHeader: headers["x-square-hmacsha256-signature"],
        signatureKey: secret,
        notificationUrl: HOOK_URL,
      }),
  },
  {
    library: "@hubspot/api-client",
    scheme: "hubspot",
    options: { secret },
    verify: ({ headers, body }) =>
      hubspot.isValid(toHubSpot(body, headers["x-hubspot-request-timestamp"], headers["x-hubspot-signature-v3"])),
    sign: (body, now) => ({
      "x-hubspot-request-timestamp": String(now),
      "x-hubspot-signature-v3": hubspot.getSignature("POST", "v3", toHubSpot(body, String(now))),
    }),
  },
  {
    library: "@line/bot-sdk",
    scheme: "line",
    options: { secret },
    verify: ({ headers, body }) => line.validateSignature(body, secret, headers["x-line-signature"]),
  },
  {
    library: "twilio",
    scheme: "twilio",
    options: { secret },
    bodies: "form",
    verify: ({ headers, body }) =>
      twilio.validateRequest(secret, headers["x-twilio-signature"], HOOK_URL, toParams(body)),
    sign: (body) => ({
      "x-twilio-signature": twilio.getExpectedTwilioSignature(secret, HOOK_URL, toParams(body)),
    }),
  },
  {
    library: "@mux/mux-node",
    scheme: "hmac",
    options: {
      secret,
      header: "Mux-Signature",
      list: { separator: ",", timestamp: "t", signature: "v1" },
      signed: ["timestamp", ".", "body"],
    },
    async verify({ headers, body }) {
      await mux.verifySignature(body, headers, secret);
      return true;
    },
  },
  {
    library: "livekit-server-sdk",
    scheme: "jwt",
    options: {
      secret,
      algorithms: ["HS256"],
      issuer: "APIkey1",
      bodyHash: { claim: "sha256", encoding: "base64" },
    },
    bodies: "json",
    verify: ({ headers, body }) =>
      new livekit.WebhookReceiver("APIkey1", secret).receive(body, headers["authorization"]?.replace("Bearer ", "")),
    async sign(body) {
      const token = new livekit.AccessToken("APIkey1", secret, { ttl: 300 });
      token.sha256 = createHash("sha256").update(body).digest("base64");
      return { authorization: await token.toJwt() };
    },
  },
];
