import { createHmac } from "node:crypto";
import { parseObject, readPath } from "../../core/shared/json.ts";
import { sameSecret } from "../../core/shared/secret.ts";
import { echo, isShortPost, isShowable, OK, toShortText } from "./handshake.ts";
import type { HandshakeRule } from "./row.ts";

export const mcpEvents: HandshakeRule = {
  about: "`verification`",
  answer({ body }) {
    const { type, challenge } = parseObject(toShortText(body));
    if (type !== "verification" || typeof challenge !== "string") return undefined;
    return { status: 200, body: { challenge } };
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
    if (method !== "POST" || !isShowable(secret)) return undefined;
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
