import type { FromSchema } from "json-schema-to-ts";
import { randomBytes } from "node:crypto";
import type { SignatureDefinition } from "../plugin.ts";
import { createGoogleTokenVerifier, GOOGLE_TOKEN, MALFORMED_TOKEN } from "../shared/google-token.ts";
import { isObject, parseObject, toObject } from "../shared/json.ts";
import { redactPayload, sameSecret } from "../shared/secret.ts";
import { parseDuration } from "../shared/time.ts";
import { graph as graphHandshake } from "./handshakes.ts";
import type { SignatureRefusal, SignatureResult, SignedRequest } from "./provider.ts";
import { SECRET, SECRET_ITSELF, TOLERANCE } from "./row.ts";
import { createHmacKey, decodeStrictly, formatTimestamp, parseTimestamp, valuesOf } from "./signature.ts";
import { checkTime } from "./verifier.ts";

// Schemes that no row describes: the signature is in the body, or it is a token that Google signed.

const WRONG: SignatureRefusal = { reason: "wrong", message: "The signature is wrong." };
const UNSIGNED: SignatureRefusal = { reason: "missing", message: "The body has no signature." };

const mailgunSchema = {
  type: "object",
  additionalProperties: false,
  required: ["secret"],
  properties: { secret: SECRET, tolerance: { ...TOLERANCE, default: "5m" } },
} as const;

/** Signs a time and a random token, in the body. The rest of the body is not signed. */
export const mailgun: SignatureDefinition<FromSchema<typeof mailgunSchema>> = {
  schema: mailgunSchema,
  docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
  deliveryId: "{{default payload.signature.token payload.token}}",
  about: { header: "body: `signature`", signed: "HMAC-SHA256, hex: `timestamp` `token`", tolerance: "5m" },
  create({ secret, tolerance }) {
    const keys = [secret].flat().map((text) => createHmacKey(text.trim()));
    const toleranceMs = parseDuration(tolerance);
    return {
      accept: 200,
      presents: ({ method }) => method === "POST",
      hideSecrets: (payload) =>
        redactPayload(payload, [
          isObject(payload) && isObject(payload["signature"]) ? ["signature", "signature"] : ["signature"],
        ]),
      async verify(request) {
        const { timestamp, token, signature } = await readMailgun(request);
        if (typeof timestamp !== "string" || typeof token !== "string" || typeof signature !== "string")
          return UNSIGNED;
        const time = parseTimestamp(timestamp, "s");
        const given = decodeStrictly(signature, "hex");
        if (time === undefined || !given) return { reason: "malformed", message: "The signature is malformed." };
        const parts = [Buffer.from(timestamp), Buffer.from(token)];
        if (!keys.some((key) => key.accepts(parts, [given]))) return WRONG;
        return checkTime(time, request.receivedAt, toleranceMs);
      },
      sign({ body, now }) {
        const timestamp = formatTimestamp(now, "s");
        const token = randomBytes(25).toString("hex");
        const signature = keys[0]?.sign?.([Buffer.from(timestamp), Buffer.from(token)]).toString("hex");
        const payload = { ...parseObject(body.toString()), signature: { timestamp, token, signature } };
        return { headers: {}, body: Buffer.from(JSON.stringify(payload)) };
      },
    };
  },
};

/** Events are JSON, forwarded mails are forms. */
async function readMailgun({ body, headers }: SignedRequest): Promise<Record<string, unknown>> {
  const type = headers["content-type"] ?? "";
  if (!/^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type)) {
    return toObject(parseObject(body.toString())["signature"]);
  }
  try {
    const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
    return Object.fromEntries(["timestamp", "token", "signature"].map((name) => [name, form.get(name)]));
  } catch {
    return {};
  }
}

const graphSchema = {
  type: "object",
  additionalProperties: false,
  required: ["secret"],
  properties: { secret: SECRET },
} as const;

/** Microsoft repeats a subscription's `clientState` in each notification of a request. */
export const graph: SignatureDefinition<FromSchema<typeof graphSchema>> = {
  schema: graphSchema,
  docs: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
  deliveryId: "{{item.subscriptionId}}:{{item.resource}}:{{item.changeType}}:{{item.resourceData.[@odata.etag]}}",
  about: { header: "body: `clientState`", signed: SECRET_ITSELF, handshake: graphHandshake.about },
  create({ secret }) {
    const secrets = [secret].flat().map((text) => text.trim());
    return {
      senderTimeoutMs: 10_000,
      presents: ({ method }) => method === "POST",
      hideSecrets: (payload) => redactPayload(payload, [["value", "*", "clientState"]]),
      verify: ({ body }) => checkClientStates(parseObject(body.toString())["value"], secrets),
      handshake: (request, result) =>
        graphHandshake.answer(request, { result, options: {}, findSecret: () => undefined }),
      sign({ body }) {
        const { value, ...rest } = parseObject(body.toString());
        const items = (Array.isArray(value) ? value : []).map((item: unknown) =>
          isObject(item) ? { ...item, clientState: secrets[0] } : item,
        );
        return { headers: {}, body: Buffer.from(JSON.stringify({ ...rest, value: items })) };
      },
    };
  },
};

function checkClientStates(items: unknown, secrets: readonly string[]): SignatureResult {
  if (!Array.isArray(items) || items.length === 0)
    return { reason: "missing", message: "The body has no notifications." };
  for (const item of items as unknown[]) {
    const state = isObject(item) ? item["clientState"] : undefined;
    if (typeof state !== "string") return { reason: "missing", message: "A notification has no clientState." };
    if (!secrets.some((secret) => sameSecret(state, secret))) {
      return { reason: "wrong", message: "The clientState of a notification is wrong." };
    }
  }
  return "valid";
}

const { audience, serviceAccount, keysUrl } = GOOGLE_TOKEN;

const googleSchema = {
  type: "object",
  additionalProperties: false,
  required: ["audience", "serviceAccount"],
  properties: { audience, serviceAccount, tolerance: { ...TOLERANCE, default: "1m" }, keysUrl },
} as const;

/** A JSON Web Token of Google, as Pub/Sub, Cloud Tasks and Cloud Scheduler send it. */
export const googleOidc: SignatureDefinition<FromSchema<typeof googleSchema>> = {
  schema: googleSchema,
  docs: "https://docs.cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
  deliveryId: "{{payload.message.messageId}}",
  about: { header: "`authorization`: `Bearer`", signed: "a token with audience and account", tolerance: "1m" },
  async create({ tolerance, ...options }) {
    const verify = await createGoogleTokenVerifier({ ...options, toleranceMs: parseDuration(tolerance) });
    return {
      presents: ({ headers }) => /^bearer /i.test(headers.authorization ?? ""),
      async verify({ rawHeaders, receivedAt }) {
        const [authorization, ...more] = valuesOf(rawHeaders, "authorization");
        return more.length > 0 ? MALFORMED_TOKEN : verify(authorization, receivedAt);
      },
    };
  },
};
