import type { FromSchema } from "json-schema-to-ts";
import { createHmac } from "node:crypto";
import { ExactNumber, parseExactObject } from "../../core/shared/exact-json.ts";
import { isObject, parseObject, parsePath, readPath, toObject, objectSchema } from "../../core/shared/json.ts";
import { sameSecret } from "../../core/shared/secret.ts";
import type { Bytes, Handshake, SignatureVerifier, SignedHead, SignedRequest } from "../../core/ports/signature.ts";
import type { HandshakeRule } from "./row.ts";

/** Maximum length of a text that is echoed or shown without a signature. */
const MAX_ECHO_LENGTH = 4096;
const MAX_UNSIGNED_BYTES = 1024;

export const github: HandshakeRule = {
  about: "`ping`",
  answer: ({ headers }) => (headers["x-github-event"] === "ping" ? OK : undefined),
};

export const slack: HandshakeRule = {
  about: "`url_verification`, `ssl_check`",
  answer({ body }) {
    if (new URLSearchParams(toShortText(body)).get("ssl_check") === "1") return { status: 200 };
    const { type, challenge } = parseObject(toShortText(body));
    return type === "url_verification" ? echo(challenge) : undefined;
  },
};

export const mcpEvents: HandshakeRule = {
  about: "`verification`",
  answer({ body }) {
    const { type, challenge } = parseObject(toShortText(body));
    if (type !== "verification" || typeof challenge !== "string") return undefined;
    return { status: 200, body: { challenge } };
  },
};

/** Discord probes the address with wrong signatures too, and expects 401 for them. */
export const discord: HandshakeRule = {
  about: "`PING`; 401 for a wrong signature",
  answer({ body }) {
    const { type, version, event } = parseObject(toShortText(body));
    // Events have a version, and 0 for a ping. Interactions have 1.
    if (version !== undefined) return type === 0 ? { status: 204 } : undefined;
    return type === 1 && event === undefined ? { status: 200, body: { type: 1 } } : undefined;
  },
};

export const meta: HandshakeRule = {
  about: "GET `hub.challenge`, with `verifyToken`",
  refusal: "hub.verify_token is wrong, or this is no handshake.",
  methods: ["GET"],
  mayBeUnsigned: ({ method, query }) => method === "GET" && query["hub.verify_token"] !== undefined,
  answer({ method, query }, { options }) {
    const { verifyToken } = options;
    const given = query["hub.verify_token"];
    if (method !== "GET" || query["hub.mode"] !== "subscribe" || given === undefined) return undefined;
    if (typeof verifyToken !== "string" || !sameSecret(given, verifyToken)) return undefined;
    return echo(query["hub.challenge"]);
  },
};

export const googleChannel: HandshakeRule = {
  about: "`sync`",
  answer: ({ headers }) => (headers["x-goog-resource-state"] === "sync" ? OK : undefined),
};

/** The token that Notion sends once is the secret. It is only shown: anyone could send one. */
export const notion: HandshakeRule = {
  about: "`verification_token`, shown to the operator",
  mayBeUnsigned: isShortPost,
  answer({ method, body }) {
    const { verification_token: token, ...rest } = parseObject(toShortText(body));
    if (method !== "POST" || typeof token !== "string" || !SHOWN.test(token) || Object.keys(rest).length > 0) {
      return undefined;
    }
    const note = `Notion sent the verification token ${token}. If you have just created the subscription, enter it at Notion and set it as auth.secret.`;
    return { ...OK, note };
  },
};

/** Text that may be shown to the operator and sent back in a header. */
const SHOWN = /^[\w+/=-]{8,256}$/;

/** Unsigned, this would sign any text for anyone, for example that of a forged request. */
export const zoom: HandshakeRule = {
  about: "`endpoint.url_validation`",
  answer({ body }, { findSecret }) {
    const { event, payload } = parseObject(toShortText(body));
    if (event !== "endpoint.url_validation") return undefined;
    const plainToken = readPath(payload, ["plainToken"]);
    const secret = findSecret();
    if (typeof plainToken !== "string" || !/^[\w-]+$/.test(plainToken) || secret === undefined) return undefined;
    const encryptedToken = createHmac("sha256", secret).update(plainToken).digest("hex");
    return { status: 200, body: { plainToken, encryptedToken } };
  },
};

export const intercom: HandshakeRule = {
  about: "HEAD; `ping`",
  methods: ["HEAD"],
  mayBeUnsigned: ({ method }) => method === "HEAD",
  answer({ method, body }) {
    if (method === "HEAD") return { status: 200 };
    return parseObject(toShortText(body))["topic"] === "ping" ? OK : undefined;
  },
};

export const trello: HandshakeRule = {
  about: "HEAD",
  methods: ["HEAD"],
  mayBeUnsigned: ({ method }) => method === "HEAD",
  answer: ({ method }) => (method === "HEAD" ? { status: 200 } : undefined),
};

export const dropbox: HandshakeRule = {
  about: "GET `challenge`",
  methods: ["GET"],
  mayBeUnsigned: ({ method, query }) => method === "GET" && query["challenge"] !== undefined,
  answer: ({ method, query }) => (method === "GET" ? echo(query["challenge"]) : undefined),
};

export const twitch: HandshakeRule = {
  about: "`webhook_callback_verification`",
  answer({ headers, body }) {
    if (headers["twitch-eventsub-message-type"] !== "webhook_callback_verification") return undefined;
    return echo(parseObject(toShortText(body))["challenge"]);
  },
};

/** The header is the secret of a new webhook. It is echoed and shown, but not used: anyone could send one. */
export const asana: HandshakeRule = {
  about: "`X-Hook-Secret`, shown to the operator",
  mayBeUnsigned: ({ method, headers }) => method === "POST" && headers["x-hook-secret"] !== undefined,
  answer({ method, headers }) {
    const secret = headers["x-hook-secret"];
    if (method !== "POST" || typeof secret !== "string" || !SHOWN.test(secret)) return undefined;
    const note = `Asana sent the secret ${secret} for a new webhook. If you have just created it, add the secret to auth.secret.`;
    return { status: 200, headers: { "X-Hook-Secret": secret }, note };
  },
};

export const line: HandshakeRule = {
  about: "a body without events",
  answer({ body }) {
    const { events } = parseObject(toShortText(body));
    return Array.isArray(events) && events.length === 0 ? OK : undefined;
  },
};

export const woocommerce: HandshakeRule = {
  about: "an unsigned `webhook_id=<number>`",
  mayBeUnsigned: isShortPost,
  answer: ({ method, body }) => (method === "POST" && /^webhook_id=\d+$/.test(toShortText(body)) ? OK : undefined),
};

export const graph: HandshakeRule = {
  about: "POST `validationToken`",
  mayBeUnsigned: ({ method, query }) => method === "POST" && query["validationToken"] !== undefined,
  answer: ({ method, query }) => (method === "POST" ? echo(query["validationToken"]) : undefined),
};

export const HANDSHAKE_OPTION = {
  description: "How the sender checks that the hook exists. Such a request needs no signature and starts nothing.",
  ...objectSchema(["when", "answer"], {
    when: {
      type: "object",
      minProperties: 1,
      maxProperties: 8,
      additionalProperties: { type: ["string", "number", "boolean"] },
      description: "Fields of the body, by path, with their values. `*` is any text, number or boolean.",
    },
    answer: {
      type: ["string", "object"],
      description: "A text, or an object that is sent as JSON. `{{payload.challenge}}` is that field of the body.",
    },
  }),
} as const;

type FixedHandshake = FromSchema<typeof HANDSHAKE_OPTION>;

/** The verifier with a handshake from the configuration; as it is without one. */
export function withFixedHandshake(
  verifier: SignatureVerifier,
  handshake: FixedHandshake | undefined,
): SignatureVerifier {
  if (!handshake) return verifier;
  const { mayBeUnsigned, answer } = fixedAnswer(handshake);
  return {
    ...verifier,
    presents: (head) => verifier.presents(head) || mayBeUnsigned(head),
    handshake: (request, result) => (result === "valid" || mayBeUnsigned(request) ? answer(request) : undefined),
  };
}

/** The answer to requests whose bodies have certain fields. */
function fixedAnswer({ when, answer }: FixedHandshake) {
  const fields = Object.entries(when).map(([path, value]) => ({ path: parsePath(path) ?? [path], value }));
  return {
    mayBeUnsigned: isShortPost,
    answer({ method, body }: SignedRequest): Handshake | undefined {
      const payload = parseExactObject(toShortText(body));
      const isHandshake = fields.every(({ path, value }) => {
        const sent = readPath(payload, path);
        return value === "*" ? isShown(sent) : (sent instanceof ExactNumber ? Number(sent) : sent) === value;
      });
      if (method !== "POST" || !isHandshake) return undefined;
      const filled = fillPlaceholders(answer, payload);
      return typeof filled === "string" ? echo(filled) : { status: 200, body: toObject(filled) };
    },
  };
}

/** `payload.` may be left out, as in the templates of a mapping. */
const PLACEHOLDER = /\{\{\s*(?:payload\.)?([^{}\s]+)\s*\}\}/g;

/** What is no text, number or boolean is left out. */
function fillPlaceholders(answer: unknown, payload: unknown): unknown {
  if (typeof answer === "string") {
    return answer.replace(PLACEHOLDER, (_, path: string) => {
      const value = readPath(payload, parsePath(path) ?? [path]);
      return isShown(value) ? String(value) : "";
    });
  }
  if (Array.isArray(answer)) return answer.map((item) => fillPlaceholders(item, payload));
  if (!isObject(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, fillPlaceholders(value, payload)]));
}

function isShown(value: unknown): value is string | number | boolean | ExactNumber {
  return ["string", "number", "boolean"].includes(typeof value) || value instanceof ExactNumber;
}

const OK: Handshake = { status: 200, body: {} };

/** Plain text, which no browser takes for a page. */
function echo(text: unknown): Handshake | undefined {
  if (typeof text !== "string" || text === "" || text.length > MAX_ECHO_LENGTH) return undefined;
  const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  return { status: 200, headers, body: text };
}

function isShortPost({ method, headers }: SignedHead): boolean {
  return method === "POST" && Number(headers["content-length"]) <= MAX_UNSIGNED_BYTES;
}

/** The body, unless it is longer than a handshake's, so that it is not parsed for nothing. */
function toShortText(body: Bytes): string {
  return body.length > MAX_ECHO_LENGTH ? "" : body.toString();
}
