import type { FromSchema } from "json-schema-to-ts";
import { randomBytes } from "node:crypto";
import type { SignatureDefinition } from "../../core/ports/driver.ts";
import { parseExactObject } from "../../core/shared/exact-json.ts";
import {
  isObject,
  NON_BLANK,
  parseObject,
  parsePath,
  readPath,
  replaceAt,
  toObject,
  objectSchema,
} from "../../core/shared/json.ts";
import { redactPayload, sameSecret, toSecrets } from "../../core/shared/secret.ts";
import { parseDuration } from "../../core/shared/time.ts";
import { checkHandshake, HANDSHAKE_OPTION, withFixedHandshake } from "./handshake.ts";
import { graph as graphHandshake } from "./handshakes.ts";
import type {
  SignatureRefusal,
  SignatureResult,
  SignatureVerifier,
  SignedRequest,
} from "../../core/ports/signature.ts";
import { SECRET, SECRET_ITSELF, TOLERANCE } from "./row.ts";
import { createHmacKey, decode, formatTimestamp, parseTimestamp } from "./signature.ts";
import { checkTime, digestParts } from "./verifier.ts";

// Schemes that no row describes, because the credential is in the body.

const WRONG: SignatureRefusal = { reason: "wrong", message: "The signature is wrong." };
const UNSIGNED: SignatureRefusal = { reason: "missing", message: "The body has no signature." };

const mailgunSchema = objectSchema(["secret"], { secret: SECRET, tolerance: { ...TOLERANCE, default: "5m" } });

/** Signs a time and a random token, in the body. The rest of the body is not signed. */
export const mailgun: SignatureDefinition<FromSchema<typeof mailgunSchema>> = {
  schema: mailgunSchema,
  docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
  deliveryId: "{{default payload.signature.token payload.token}}",
  replay: () => "timed",
  about: { header: "body: `signature`", signed: "HMAC-SHA256, hex: `timestamp` `token`", tolerance: "5m" },
  create({ secret, tolerance }) {
    const keys = toSecrets(secret).map((text) => createHmacKey(text));
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
        const given = decode(signature, "hex");
        if (time === undefined || !given) return { reason: "malformed", message: "The signature is malformed." };
        const parts = [Buffer.from(timestamp), Buffer.from(token)];
        if (!keys.some((key) => key.accepts(parts, [given]))) return WRONG;
        return checkTime(time, request.receivedAt, toleranceMs);
      },
      async identify(request) {
        const { token } = await readMailgun(request);
        if (typeof token !== "string") return undefined;
        // Another body with the same token is not Mailgun's, so the token alone is what counts.
        return { digest: digestParts([Buffer.from(token)]), validMs: 2 * toleranceMs, isBodyUnsigned: true };
      },
      sign({ body, now }) {
        const timestamp = formatTimestamp(now, "s");
        const token = randomBytes(25).toString("hex");
        const signature = keys[0]?.sign?.([Buffer.from(timestamp), Buffer.from(token)]).toString("hex");
        const payload = { ...parseExactObject(body.toString()), signature: { timestamp, token, signature } };
        return { headers: {}, body: Buffer.from(JSON.stringify(payload)) };
      },
    };
  },
};

/** Events are JSON, forwarded mails are forms. */
async function readMailgun(request: SignedRequest): Promise<Record<string, unknown>> {
  const form = await readForm(request);
  return form ?? toObject(parseObject(request.body.toString())["signature"]);
}

/** The fields of a form, the first of each name; undefined if the body is none. */
async function readForm({ body, headers }: SignedRequest): Promise<Record<string, unknown> | undefined> {
  const type = headers["content-type"] ?? "";
  if (!/^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type)) return undefined;
  try {
    const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
    return Object.fromEntries([...form.entries()].toReversed());
  } catch {
    return {};
  }
}

const fieldSchema = objectSchema(["secret", "field"], {
  secret: SECRET,
  field: { ...NON_BLANK, description: "The field with the secret: its name in a form, its path in a JSON body." },
  handshake: HANDSHAKE_OPTION,
});

/** A secret in a field of the body, as outgoing webhooks of Mattermost and Rocket.Chat and events of Lark have it. */
export const field: SignatureDefinition<FromSchema<typeof fieldSchema>> = {
  schema: fieldSchema,
  replay: () => "plain",
  about: { header: "body: `field`", signed: SECRET_ITSELF, handshake: "`handshake`" },
  check: ({ handshake }) => checkHandshake(handshake),
  create: ({ secret, field: name, handshake }) => withFixedHandshake(createFieldVerifier(secret, name), handshake),
};

function createFieldVerifier(secret: string | readonly string[], name: string): SignatureVerifier {
  const secrets = toSecrets(secret);
  const path = parsePath(name) ?? [name];
  return {
    presents: ({ method }) => method === "POST",
    hideSecrets: (payload) =>
      redactPayload(payload, [isObject(payload) && name in payload ? [name] : path.map(String)]),
    async verify(request) {
      const form = await readForm(request);
      const sent = form ? form[name] : readPath(parseObject(request.body.toString()), path);
      if (typeof sent !== "string") return { reason: "missing", message: `The field ${name} is missing.` };
      const isRight = secrets.some((known) => sameSecret(sent, known));
      return isRight ? "valid" : { reason: "wrong", message: `The secret in the field ${name} is wrong.` };
    },
    sign({ body, contentType = "" }) {
      const value = secrets[0] ?? "";
      if (contentType.startsWith("application/x-www-form-urlencoded")) {
        const form = new URLSearchParams(body.toString());
        form.set(name, value);
        return { headers: {}, body: Buffer.from(form.toString()) };
      }
      const payload = replaceAt(parseExactObject(body.toString()), path, value);
      return { headers: {}, body: Buffer.from(JSON.stringify(payload)) };
    },
  };
}

const graphSchema = objectSchema(["secret"], { secret: SECRET });

/** Microsoft repeats a subscription's `clientState` in each notification of a request. */
export const graph: SignatureDefinition<FromSchema<typeof graphSchema>> = {
  schema: graphSchema,
  docs: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
  replay: () => "plain",
  deliveryId: "{{item.subscriptionId}}:{{item.resource}}:{{item.changeType}}:{{item.resourceData.[@odata.etag]}}",
  about: { header: "body: `clientState`", signed: SECRET_ITSELF, handshake: graphHandshake.about },
  create({ secret }) {
    const secrets = toSecrets(secret);
    return {
      senderTimeoutMs: 10_000,
      presents: ({ method }) => method === "POST",
      hideSecrets: (payload) => redactPayload(payload, [["value", "*", "clientState"]]),
      verify: ({ body }) => checkClientStates(parseObject(body.toString())["value"], secrets),
      handshake(request, result) {
        if (result !== "valid" && !graphHandshake.mayBeUnsigned?.(request)) return undefined;
        return graphHandshake.answer(request, { result, options: {}, findSecret: () => undefined });
      },
      sign({ body }) {
        const { value, ...rest } = parseExactObject(body.toString());
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
