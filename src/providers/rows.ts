import { createHash } from "node:crypto";
import { sameSecret } from "../shared/secret.ts";
import { NON_BLANK } from "../shared/json.ts";
import * as handshakes from "./handshakes.ts";
import { toBasicKey, toStandardKey } from "./signature.ts";
import type { ReplayClass, SignedRequest } from "./provider.ts";
import type { SignatureRow } from "./row.ts";

/** `t=1614556800,v1=5257a8…`, over the time, a separator and the body. */
const TIMED_LIST = {
  replay: "timed",
  list: { separator: ",", signature: "v1", timestamp: "t" },
  timestamp: { unit: "s" },
  signed: ["timestamp", ".", "body"],
} as const satisfies Partial<SignatureRow>;

/** https://www.standardwebhooks.com */
const STANDARD = {
  replay: "timed",
  header: "webhook-signature",
  idHeader: "webhook-id",
  timestamp: { header: "webhook-timestamp", unit: "s" },
  signed: ["id", ".", "timestamp", ".", "body"],
  encoding: "base64",
  list: { separator: " ", assign: ",", signature: "v1" },
  toKey: toStandardKey,
  deliveryId: "{{headers.webhook-id}}",
} as const satisfies SignatureRow;

/** The senders, by name of the scheme. */
export const rows = {
  github: {
    replay: "unique",
    docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    header: "x-hub-signature-256",
    prefix: "sha256=",
    deliveryId: "{{headers.x-github-delivery}}",
    handshake: handshakes.github,
    senderTimeoutMs: 10_000,
  },
  gitlab: {
    replay: "plain",
    docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    header: "x-gitlab-token",
    algorithm: "secret",
    encoding: "latin1",
    deliveryId: "{{default headers.idempotency-key headers.x-gitlab-event-uuid}}",
    senderTimeoutMs: 10_000,
  },
  slack: {
    replay: "timed",
    docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
    header: "x-slack-signature",
    prefix: "v0=",
    timestamp: { header: "x-slack-request-timestamp", unit: "s" },
    signed: ["v0:", "timestamp", ":", "body"],
    deliveryId: "{{payload.event_id}}",
    handshake: handshakes.slack,
    senderTimeoutMs: 3000,
  },
  stripe: {
    docs: "https://docs.stripe.com/webhooks/signature",
    header: "stripe-signature",
    ...TIMED_LIST,
    deliveryId: "{{payload.id}}",
  },
  "standard-webhooks": {
    docs: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    ...STANDARD,
    // The senders that Svix serves, such as Resend and Clerk.
    header: ["webhook-signature", "svix-signature"],
    idHeader: ["webhook-id", "svix-id"],
    timestamp: { header: ["webhook-timestamp", "svix-timestamp"], unit: "s" },
    deliveryId: "{{default headers.webhook-id headers.svix-id}}",
    senderTimeoutMs: 15_000,
  },
  svix: {
    docs: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    ...STANDARD,
    header: "svix-signature",
    idHeader: "svix-id",
    timestamp: { header: "svix-timestamp", unit: "s" },
    deliveryId: "{{headers.svix-id}}",
    senderTimeoutMs: 15_000,
  },
  "mcp-events": {
    docs: "https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415",
    ...STANDARD,
    handshake: handshakes.mcpEvents,
    senderTimeoutMs: 10_000,
  },
  linear: {
    replay: "timed",
    docs: "https://linear.app/developers/webhooks",
    header: "linear-signature",
    timestamp: { field: "webhookTimestamp", unit: "ms" },
    tolerance: "1m",
    deliveryId: "{{headers.linear-delivery}}",
    accept: 200,
    senderTimeoutMs: 5000,
  },
  atlassian: {
    replay: "unique",
    docs: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
    header: "x-hub-signature",
    prefix: "sha256=",
    deliveryId: "{{default headers.x-atlassian-webhook-identifier headers.x-request-uuid}}",
  },
  sentry: {
    replay: "unique",
    docs: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
    header: "sentry-hook-signature",
    deliveryId: "{{headers.request-id}}",
    senderTimeoutMs: 1000,
  },
  gitea: {
    replay: "unique",
    docs: "https://docs.gitea.com/usage/repository/webhooks",
    header: ["x-forgejo-signature", "x-gitea-signature", "x-gogs-signature"],
    deliveryId: "{{default headers.x-gitea-delivery headers.x-gogs-delivery}}",
    senderTimeoutMs: 5000,
  },
  telegram: {
    replay: "plain",
    docs: "https://core.telegram.org/bots/api#setwebhook",
    header: "x-telegram-bot-api-secret-token",
    algorithm: "secret",
    encoding: "latin1",
    deliveryId: "{{payload.update_id}}",
  },
  discord: {
    replay: "timed",
    docs: "https://docs.discord.com/developers/interactions/overview#validating-security-request-headers",
    header: "x-signature-ed25519",
    algorithm: "ed25519",
    timestamp: { header: "x-signature-timestamp", unit: "s" },
    signed: ["timestamp", "body"],
    deliveryId: "{{payload.id}}",
    handshake: handshakes.discord,
    senderTimeoutMs: 3000,
  },
  meta: {
    replay: "unique",
    docs: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
    header: "x-hub-signature-256",
    prefix: "sha256=",
    deliveryId: "{{payload.entry.[0].changes.[0].value.messages.[0].id}}",
    options: {
      verifyToken: { ...NON_BLANK, description: "The text that you entered as Verify Token next to the address." },
    },
    handshake: handshakes.meta,
    accept: 200,
  },
  pagerduty: {
    replay: "unique",
    docs: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
    header: "x-pagerduty-signature",
    list: { separator: ",", signature: "v1" },
    deliveryId: "{{payload.event.id}}",
  },
  shopify: {
    replay: "unique",
    docs: "https://shopify.dev/docs/apps/build/webhooks/verify-deliveries",
    header: "x-shopify-hmac-sha256",
    encoding: "base64",
    deliveryId: "{{headers.x-shopify-webhook-id}}",
    accept: 200,
    senderTimeoutMs: 5000,
  },
  "google-channel": {
    replay: "plain",
    docs: "https://developers.google.com/workspace/calendar/api/guides/push",
    header: "x-goog-channel-token",
    algorithm: "secret",
    encoding: "latin1",
    deliveryId: "{{headers.x-goog-channel-id}}:{{headers.x-goog-message-number}}",
    handshake: handshakes.googleChannel,
    allowsEmptyBody: true,
  },
  notion: {
    replay: "unique",
    docs: "https://developers.notion.com/reference/webhooks",
    header: "x-notion-signature",
    prefix: "sha256=",
    deliveryId: "{{payload.id}}",
    handshake: handshakes.notion,
  },
  twilio: {
    replay: "unique",
    docs: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
    header: "x-twilio-signature",
    algorithm: "hmac-sha1",
    encoding: "base64",
    signed: ["url", form],
    toUrls: withAndWithoutPort,
    deliveryId: "{{default headers.i-twilio-idempotency-token payload.MessageSid}}",
    senderTimeoutMs: 15_000,
  },
  sendgrid: {
    replay: "timed",
    docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
    header: "x-twilio-email-event-webhook-signature",
    algorithm: "ecdsa-sha256",
    encoding: "base64",
    timestamp: { header: "x-twilio-email-event-webhook-timestamp", unit: "s" },
    signed: ["timestamp", "body"],
    deliveryId: "{{item.sg_event_id}}",
  },
  zoom: {
    replay: "timed",
    docs: "https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events",
    header: "x-zm-signature",
    prefix: "v0=",
    timestamp: { header: "x-zm-request-timestamp", unit: "s" },
    signed: ["v0:", "timestamp", ":", "body"],
    deliveryId: "{{payload.event_ts}}:{{payload.payload.object.uuid}}",
    handshake: handshakes.zoom,
    senderTimeoutMs: 3000,
  },
  intercom: {
    replay: "unique",
    docs: "https://developers.intercom.com/docs/references/webhooks/webhook-models",
    header: "x-hub-signature",
    prefix: "sha1=",
    algorithm: "hmac-sha1",
    deliveryId: "{{payload.id}}",
    handshake: handshakes.intercom,
    senderTimeoutMs: 5000,
  },
  hubspot: {
    replay: "timed",
    docs: "https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests",
    header: "x-hubspot-signature-v3",
    encoding: "base64",
    timestamp: { header: "x-hubspot-request-timestamp", unit: "ms" },
    signed: ["method", decodedUrl, "body", "timestamp"],
    signsUrl: true,
    deliveryId: "{{item.eventId}}",
    senderTimeoutMs: 5000,
  },
  square: {
    replay: "unique",
    docs: "https://developer.squareup.com/docs/webhooks/step3validate",
    header: "x-square-hmacsha256-signature",
    encoding: "base64",
    signed: ["url", "body"],
    deliveryId: "{{payload.event_id}}",
    senderTimeoutMs: 10_000,
  },
  paddle: {
    replay: "timed",
    docs: "https://developer.paddle.com/webhooks/signature-verification",
    header: "paddle-signature",
    list: { separator: ";", signature: "h1", timestamp: "ts" },
    timestamp: { unit: "s" },
    signed: ["timestamp", ":", "body"],
    deliveryId: "{{payload.notification_id}}",
    accept: 200,
    senderTimeoutMs: 5000,
  },
  dropbox: {
    replay: "plain",
    docs: "https://www.dropbox.com/developers/reference/webhooks",
    header: "x-dropbox-signature",
    handshake: handshakes.dropbox,
    senderTimeoutMs: 10_000,
  },
  twitch: {
    replay: "timed",
    docs: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
    header: "twitch-eventsub-message-signature",
    prefix: "sha256=",
    idHeader: "twitch-eventsub-message-id",
    timestamp: { header: "twitch-eventsub-message-timestamp", unit: "iso" },
    tolerance: "10m",
    signed: ["id", "timestamp", "body"],
    deliveryId: "{{headers.twitch-eventsub-message-id}}",
    handshake: handshakes.twitch,
  },
  trello: {
    replay: "unique",
    docs: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks",
    header: "x-trello-webhook",
    algorithm: "hmac-sha1",
    encoding: "base64",
    signed: ["body", "url"],
    deliveryId: "{{payload.action.id}}",
    handshake: handshakes.trello,
  },
  asana: {
    replay: "plain",
    docs: "https://developers.asana.com/docs/webhooks-guide",
    header: "x-hook-signature",
    handshake: handshakes.asana,
    senderTimeoutMs: 10_000,
  },
  typeform: {
    replay: "unique",
    docs: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
    header: "typeform-signature",
    prefix: "sha256=",
    encoding: "base64",
    deliveryId: "{{payload.event_id}}",
  },
  calendly: {
    docs: "https://developer.calendly.com/api-docs/webhook-signatures",
    header: "calendly-webhook-signature",
    ...TIMED_LIST,
    deliveryId: "{{payload.event}}:{{payload.payload.uri}}:{{payload.created_at}}",
  },
  cal: {
    replay: "unique",
    docs: "https://cal.com/docs/developing/guides/automation/webhooks",
    header: "x-cal-signature-256",
    deliveryId: "{{payload.triggerEvent}}:{{payload.payload.uid}}:{{payload.createdAt}}",
  },
  line: {
    replay: "unique",
    docs: "https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/",
    header: "x-line-signature",
    encoding: "base64",
    deliveryId: "{{payload.events.[0].webhookEventId}}",
    handshake: handshakes.line,
    accept: 200,
  },
  heroku: {
    replay: "unique",
    docs: "https://devcenter.heroku.com/articles/app-webhooks#securing-webhook-requests",
    header: "heroku-webhook-hmac-sha256",
    encoding: "base64",
    deliveryId: "{{payload.webhook_metadata.delivery.id}}",
  },
  vercel: {
    replay: "unique",
    docs: "https://vercel.com/docs/webhooks/webhooks-api#securing-webhooks",
    header: "x-vercel-signature",
    algorithm: "hmac-sha1",
    deliveryId: "{{payload.id}}",
  },
  woocommerce: {
    replay: "unique",
    docs: "https://woocommerce.com/document/webhooks/",
    header: "x-wc-webhook-signature",
    encoding: "base64",
    deliveryId: "{{headers.x-wc-webhook-delivery-id}}",
    handshake: handshakes.woocommerce,
    senderTimeoutMs: 5000,
  },
  lemonsqueezy: {
    replay: "unique",
    docs: "https://docs.lemonsqueezy.com/help/webhooks/signing-requests",
    header: "x-signature",
    deliveryId: "{{payload.meta.event_name}}:{{payload.data.id}}:{{payload.data.attributes.updated_at}}",
    accept: 200,
  },
  razorpay: {
    replay: "unique",
    docs: "https://razorpay.com/docs/webhooks/validate-test/",
    header: "x-razorpay-signature",
    deliveryId: "{{headers.x-razorpay-event-id}}",
    senderTimeoutMs: 5000,
  },
  basic: {
    replay: "plain",
    header: "authorization",
    prefix: "Basic ",
    algorithm: "secret",
    encoding: "base64",
    toKey: toBasicKey,
  },
  token: { replay: "plain", header: "authorization", prefix: "Bearer ", algorithm: "secret", encoding: "latin1" },
} as const satisfies Record<string, SignatureRow & { replay: ReplayClass }>;

/**
 * Twilio's form: each name with its value, sorted. Where a name ends and its value begins is not signed. Of any other body
 * the SHA-256 is in the address.
 */
function form({ url = "", body, headers }: SignedRequest): string | undefined {
  const digest = URL.parse(url)?.searchParams.get("bodySHA256");
  if (typeof digest === "string") {
    return sameSecret(digest, createHash("sha256").update(body).digest("hex")) ? "" : undefined;
  }
  if (body.length === 0) return "";
  if (!/^application\/x-www-form-urlencoded(?:;|$)/i.test(headers["content-type"] ?? "")) return undefined;
  const fields = new URLSearchParams(body.toString());
  const values = (name: string): string[] => [...new Set(fields.getAll(name))].toSorted();
  const names = [...new Set(fields.keys())].toSorted();
  return names.flatMap((name) => values(name).map((value) => name + value)).join("");
}

/** Twilio does not always sign the port that the address has, and sometimes signs the usual one that it has not. */
function withAndWithoutPort(written: string): string[] {
  const [, scheme = "", host = "", port, rest = ""] =
    /^(https?):\/\/([^/?#]*?)(?::(\d+))?([/?#].*)?$/i.exec(written) ?? [];
  if (host === "") return [written];
  const usual = scheme.toLowerCase() === "https" ? "443" : "80";
  return [written, `${scheme}://${host}${port === undefined ? `:${usual}` : ""}${rest}`];
}

/** HubSpot decodes these characters of the address before it signs. */
function decodedUrl({ url }: SignedRequest): string | undefined {
  return url?.replace(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (escape) => decodeURIComponent(escape));
}
