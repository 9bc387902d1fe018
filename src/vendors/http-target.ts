import type { FromSchema } from "json-schema-to-ts";
import { createHmac } from "node:crypto";
import { DriverError, messageOf } from "../core/errors.ts";
import type { DriverContext, ChannelDefinition, OptionProblem } from "../core/ports/driver.ts";
import { listFound } from "../core/shared/found.ts";
import { appendSegment, HTTP_URL, NON_BLANK, objectSchema, parsePath, readPath } from "../core/shared/json.ts";
import { isRetryableStatus } from "../core/shared/net/network.ts";
import { compileFields } from "../core/shared/template-values.ts";
import type { ChannelDriver, OutgoingMessage } from "../core/ports/channel.ts";
import { type HttpAnswer, isSuccess, request, toRefusal } from "./kit/http.ts";

const schema = {
  description: "Any HTTP endpoint. The configuration names the targets; `to` is the name of one.",
  ...objectSchema(["targets"], {
    targets: {
      type: "object",
      description: "The endpoints, by the names that `to` can have.",
      minProperties: 1,
      propertyNames: {
        pattern: "^[A-Za-z0-9][\\w.-]{0,63}$",
        description: "1 to 64 letters, digits, - . and _, beginning with a letter or a digit.",
      },
      additionalProperties: objectSchema(["url"], {
        url: { ...HTTP_URL, description: "Gets a POST. Redirects are not followed." },
        headers: { type: "object", additionalProperties: { type: "string" }, description: "Further headers." },
        secret: {
          ...NON_BLANK,
          description:
            "Signs each request as Standard Webhooks says: whsec_ and base64, or any text of at least 24 bytes.",
        },
        body: {
          type: "object",
          minProperties: 1,
          additionalProperties: true,
          description:
            "JSON whose texts are templates over text, eventId, runId, hook, sessionKey and the event. Default: these five.",
        },
        success: {
          description:
            "A field of the JSON that an accepted request answers with, for a service that answers its errors with 200.",
          ...objectSchema(["path", "is"], {
            path: { ...NON_BLANK, description: "Where it is: `errcode`, `result.status`." },
            is: { type: ["string", "number", "boolean"], description: "Its value. Any other is a refusal." },
          }),
        },
      }),
    },
  }),
} as const;

type HttpOptions = FromSchema<typeof schema>;
type TargetOptions = HttpOptions["targets"][string];

export const http: ChannelDefinition<HttpOptions> = {
  schema,
  check,
  create: createHttp,
  about: {
    to: "the name of a target",
    afterCrash: "comes again with the same `webhook-id`",
    testedAgainst: "a double that verifies signatures with the scheme `standard-webhooks`",
  },
};

const MIN_SECRET_BYTES = 24;

/** The request is made with these headers, or the connection needs them. */
const RESERVED_HEADERS =
  /^(?:webhook-(?:id|timestamp|signature)|host|content-length|connection|keep-alive|transfer-encoding|upgrade|expect|te|trailer)$/i;

function check({ targets }: HttpOptions): OptionProblem[] {
  return Object.entries(targets).flatMap(([name, target]) => {
    const key = appendSegment("targets", name);
    return checkTarget(target).map((problem) => ({ ...problem, key: `${key}.${problem.key}` }));
  });
}

function checkTarget({ url, headers = {}, secret, success }: TargetOptions): OptionProblem[] {
  const { username = "", password = "" } = URL.parse(url) ?? {};
  const reserved = Object.keys(headers).find((name) => RESERVED_HEADERS.test(name));
  return listFound<OptionProblem>(
    !URL.canParse(url) && { key: "url", message: "This is not a URL such as https://example.com/hook." },
    username + password !== "" && {
      key: "url",
      message: "The URL must not contain a user or a password. Set headers.authorization instead.",
    },
    reserved !== undefined && {
      key: "headers",
      message: `The headers must not contain ${reserved}, which the channel sets. Remove it.`,
    },
    !isHeaders(headers) && {
      key: "headers",
      message: "The headers contain a name or a value that no HTTP header can have.",
    },
    success &&
      !parsePath(success.path) && {
        key: "success.path",
        message: "This is not a path of fields such as errcode or result.status.",
      },
    secret === undefined
      ? {
          key: "secret",
          message: "No secret is set, so the target cannot tell who sent a request. Set one to sign requests.",
          level: "warning",
        }
      : !toKey(secret) && {
          key: "secret",
          message: `The secret must be whsec_ and base64, or a text, of at least ${MIN_SECRET_BYTES} bytes.`,
        },
  );
}

function isHeaders(headers: Record<string, string>): boolean {
  try {
    void new Headers(headers);
    return true;
  } catch {
    return false;
  }
}

/** Undefined if the secret is too short, or not base64 after `whsec_`. */
function toKey(secret: string): Buffer | undefined {
  const encoded = /^whsec_(.*)$/s.exec(secret.trim())?.[1];
  const key = encoded === undefined ? Buffer.from(secret.trim()) : Buffer.from(encoded, "base64");
  if (encoded !== undefined && key.toString("base64") !== encoded) return undefined;
  return key.length < MIN_SECRET_BYTES ? undefined : key;
}

/** The largest body. Many receivers take no larger ones. */
const MAX_BODY_BYTES = 262_144;

/** The rest of the body is for the ids and what a template adds. */
const LIMIT = 250_000;

interface Target {
  url: string;
  headers: Record<string, string>;
  key: Buffer | undefined;
  /** Fills in its templates. Undefined: the default. */
  body: ((context: object) => unknown) | undefined;
  /** Whether an answer of 2xx says in its body that the request was accepted. */
  accepts(answer: HttpAnswer): boolean;
}

/**
 * Posts to endpoints that the operator names, also on a private network. Each attempt has the same `webhook-id`, by which a
 * target can ignore a repeat.
 */
export function createHttp(
  { targets: options }: HttpOptions,
  { compileTemplate }: Pick<DriverContext, "compileTemplate">,
): ChannelDriver {
  const targets = new Map(Object.entries(options).map(([name, target]) => [name, openTarget(name, target)]));
  return {
    name: "http",
    limit: LIMIT,
    maxParts: 1,
    // Measured with the escapes of the body.
    measure: (text) => Buffer.byteLength(JSON.stringify(text)) - 2,
    checkRecipient: (to) => void requireTarget(to),
    async send(message, signal) {
      const target = requireTarget(message.to);
      const service = `The target ${message.to}`;
      const body = JSON.stringify(await toBody(message, target, service));
      if (Buffer.byteLength(body) > MAX_BODY_BYTES) {
        throw new DriverError(
          `The body for ${message.to} is larger than ${MAX_BODY_BYTES} bytes. Shorten its template.`,
          {
            retryable: false,
          },
        );
      }
      const id = message.idempotencyKey;
      const headers = { ...target.headers, ...toSignedHeaders(id, body, target.key) };
      const answer = await request({ service, url: target.url, headers, body, signal });
      if (isSuccess(answer) && target.accepts(answer)) return { messageId: id };
      const { message: said, error, msg, errmsg } = answer.body;
      throw toRefusal(service, answer, {
        reason: said ?? error ?? msg ?? errmsg,
        // A refusal with 200 may be a rate limit. Another attempt after a 3xx would be redirected again.
        retryable: isSuccess(answer) || (answer.status >= 400 && isRetryableStatus(answer.status)),
      });
    },
  };

  function openTarget(name: string, { url, headers = {}, secret, body, success }: TargetOptions): Target {
    const lowered = Object.entries(headers).map(([header, value]): [string, string] => [header.toLowerCase(), value]);
    return {
      url,
      headers: { "user-agent": "hookline", ...Object.fromEntries(lowered) },
      key: secret === undefined ? undefined : toKey(secret),
      body: body && compileFields(body, `${appendSegment("targets", name)}.body`, compileTemplate, false),
      accepts: (answer) => !success || readPath(answer.body, parsePath(success.path) ?? []) === success.is,
    };
  }

  function requireTarget(to: string): Target {
    const target = targets.get(to);
    if (target) return target;
    throw new DriverError(`Expected the name of a target: ${[...targets.keys()].join(", ")}.`, { retryable: false });
  }
}

async function toBody(message: OutgoingMessage, { body }: Target, service: string): Promise<unknown> {
  const { text, about, readEvent } = message;
  const own = { text, ...about };
  if (!body) return own;
  const event = await readEvent?.();
  try {
    return body({ ...event, ...own });
  } catch (error) {
    throw new DriverError(`${service} gets no request: its body cannot be made. ${messageOf(error)}`, {
      retryable: false,
    });
  }
}

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
function toSignedHeaders(id: string, body: string, key: Buffer | undefined): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp };
  if (!key) return headers;
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { ...headers, "webhook-signature": `v1,${signature}` };
}
