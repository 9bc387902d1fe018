import type { IncomingHttpHeaders } from "node:http";
import { AnswerTooLong } from "../core/shared/net/limited-fetch.ts";
import { isObject, parseJson, toObject, toObjects, toText } from "../core/shared/json.ts";
import { type AnswerFormat, LISTS, toSpecified } from "./answer-format.ts";
import { sendToModel } from "./send-to-model.ts";

export const WEB_PAGE = "a web page";

/** A failure that was sent with status 200. The message is the provider's. */
export class FailedAnswer extends Error {
  override name = "FailedAnswer";
  /** The failure in the answer with status 200: "the error 429". */
  readonly what: string;
  /** The status that means the same. */
  readonly statusCode: number;
  readonly responseHeaders: Record<string, string>;
  /** The error in the form that is sent with its status. */
  readonly responseBody: string;

  constructor({ what, status, code, message = "" }: Failure, headers: IncomingHttpHeaders) {
    super(message);
    this.what = what;
    this.statusCode = status;
    this.responseHeaders = pickRetryHeaders(headers);
    this.responseBody = JSON.stringify({ error: { code, message } });
  }
}

/** The longest answers of models have some hundred kilobytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A `fetch` to a model whose answers are as their format specifies. Endpoints that are compatible with it send failures with
 * status 200, and other types than the specified ones: it rejects with a `FailedAnswer`, and converts the types. The turn has a
 * time limit of its own.
 */
export function readAnswers(format: AnswerFormat): typeof fetch {
  return async (input, { headers: given, body: written, signal } = {}) => {
    const answered = await sendToModel(input instanceof Request ? input.url : input.toString(), {
      method: "POST",
      headers: Object.fromEntries(new Headers(given)),
      body: typeof written === "string" ? written : undefined,
      signal: signal ?? undefined,
    });
    const { status, headers } = answered;
    const isOk = status >= 200 && status < 300;
    let text = "";
    try {
      text = await readWhole(answered.body);
    } catch (error) {
      if (signal?.aborted) throw error;
      // The status of a refusal says more.
      if (isOk) throw new FailedAnswer(describeUnread(error), headers);
    }
    if (!isOk) return new Response(text || null, { status, headers: pickRetryHeaders(headers) });
    // Some servers end the answer as if it were a stream.
    const body = parseJson(text.replace(/\s*data: \[DONE\]\s*$/, ""));
    const failure = isObject(body) ? findFailure(body, format) : toBadAnswer(describeText(text));
    if (failure) throw new FailedAnswer(failure, headers);
    return Response.json(toSpecified(toObject(body), format));
  };
}

/** Without a byte order mark, other than `toString`. */
const UTF8 = new TextDecoder();

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop ends the connection.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new AnswerTooLong(MAX_BYTES);
    chunks.push(chunk);
  }
  return UTF8.decode(Buffer.concat(chunks));
}

/** Headers of a failure that are read. */
const RETRY_HEADERS = ["retry-after", "retry-after-ms"];

function pickRetryHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const sent = RETRY_HEADERS.filter((name) => headers[name] !== undefined);
  return Object.fromEntries(sent.map((name) => [name, String(headers[name])]));
}

function describeUnread(error: unknown): Failure {
  if (error instanceof AnswerTooLong) return { ...toBadAnswer("too much"), message: error.message };
  return toBadAnswer("an answer that broke off");
}

interface Failure extends Pick<FailedAnswer, "what"> {
  status: number;
  code?: string;
  message?: string;
}

const BAD_GATEWAY = 502;

function toBadAnswer(what: string): Failure {
  return { what, status: BAD_GATEWAY };
}

function describeText(text: string): string {
  if (text.trim() === "") return "nothing";
  return text.trimStart().startsWith("<") ? WEB_PAGE : "a text that is no JSON";
}

/** Reasons for the end of a text that is not the end of an answer. */
const BROKEN_OFF = /^(?:error|failed|abort(?:ed)?|cancell?ed|network_error|insufficient_system_resource)$/i;

function findFailure(body: Record<string, unknown>, format: AnswerFormat): Failure | undefined {
  const list = body[LISTS[format]];
  const [choice] = format === "chat" ? toObjects(list) : [body];
  const error = [body["error"], choice?.["error"]].find((one) => (isObject(one) ? Object.keys(one).length > 0 : one));
  if (error !== undefined) return describeError(error);
  if (!Array.isArray(list)) return describeError(body);
  if (!choice || (format === "chat" && !isObject(choice["message"]))) return toBadAnswer("no answer");
  const reason = toText(choice["finish_reason"] ?? choice["stop_reason"] ?? choice["status"]);
  return BROKEN_OFF.test(reason) ? toBadAnswer(`an answer that ended with "${reason}"`) : undefined;
}

/** `{ code, type, message }`, a text, or what other servers send in place of it. */
function describeError(error: unknown): Failure {
  const { code, status, status_code, type, message, msg, detail } = toObject(error);
  const codes = [code, status, status_code, type].flatMap((one) =>
    typeof one === "string" || typeof one === "number" ? [String(one)] : [],
  );
  return {
    what: codes[0] === undefined ? "an error" : `the error ${codes[0]}`,
    status: statusOf(codes),
    code: codes.find((one) => /\D/.test(one)),
    message: [error, message, msg, detail].map((words) => (isObject(words) ? "" : toText(words))).find(Boolean),
  };
}

/** Statuses of codes in words; the first that fits. */
const STATUS_OF_WORDS: [words: RegExp, status: number][] = [
  [/insufficient_(?:quota|credit|balance|funds)|billing|payment/i, 402],
  [/rate.?limit|too.?many|throttl|exhausted/i, 429],
  [/not_?found/i, 404],
  [/auth|api_?key/i, 401],
  [/permission|forbidden/i, 403],
  [/context_length|invalid|bad_?request|content_(?:filter|policy)|moderation/i, 400],
];

function statusOf(codes: string[]): number {
  const number = codes.map(Number).find((one) => one >= 400 && one <= 599);
  if (number !== undefined) return number;
  return STATUS_OF_WORDS.find(([words]) => codes.some((code) => words.test(code)))?.[1] ?? BAD_GATEWAY;
}
