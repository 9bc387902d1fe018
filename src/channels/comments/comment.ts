import { hash } from "node:crypto";
import type { DriverError } from "../../errors.ts";
import type { ChannelDriver, OutgoingMessage } from "../driver.ts";
import { type HttpAnswer, type HttpRequest, request, toUnreadable } from "../http.ts";

/** How one service takes comments. `Body` is a comment's text as the service takes it, `C` how its API is called. */
export interface CommentPlace<Body, C = Call> extends Pick<
  ChannelDriver,
  "addressOf" | "checkRecipient" | "limit" | "measure" | "name" | "startWorking"
> {
  /** The mark that the place hides, the same for each attempt. Default: an HTML comment. */
  toMark?(idempotencyKey: string): string;
  /** The text for the place, with the mark if the place can hide one. */
  render(message: Pick<OutgoingMessage, "format" | "text">, mark: string): Body | Promise<Body>;
  /** Adds a comment. Resolves to the id that events about it name. */
  add(to: string, body: Body, call: C): Promise<string>;
  /** Replaces the text of a comment. Resolves to false if it is gone. Absent: the place cannot. */
  edit?(to: string, messageId: string, body: Body, call: C): Promise<boolean>;
  /** Looks for the mark in the newest comments. Resolves to the id. Absent: the place hides no mark. */
  find?(to: string, mark: string, call: C): Promise<string | undefined>;
}

/**
 * A request to the service's API, its path encoded. Rejects with a `DriverError` unless it succeeds. `"edit"`: it resolves
 * also for a 404 or 410, which say that the comment does not exist any more.
 */
export type Call = (
  method: NonNullable<HttpRequest["method"]>,
  path: string,
  body?: unknown,
  kind?: "edit",
) => Promise<HttpAnswer>;

/** A channel that writes comments into another service. */
export function createCommentChannel<Body, C = Call>(
  { toMark = toHtmlMark, render, add, edit, find, ...place }: CommentPlace<Body, C>,
  open: (signal: AbortSignal, to: string) => Promise<C>,
): ChannelDriver {
  return {
    ...place,
    needsAllow: true,
    canUpdate: edit !== undefined,
    async send({ to, text, format, idempotencyKey, replaces, mayBeSent }, signal) {
      const mark = toMark(idempotencyKey);
      const body = await render({ text, format }, mark);
      const call = await open(signal, to);
      if (replaces !== undefined && (await edit?.(to, replaces, body, call))) return { messageId: replaces };
      const found = mayBeSent ? await find?.(to, mark, call) : undefined;
      return { messageId: found ?? (await add(to, body, call)) };
    },
  };
}

export interface Api {
  /** In error messages. */
  service: string;
  /** With or without a final slash. */
  baseUrl: string;
  headers(signal: AbortSignal, to: string): Promise<Record<string, string>> | Record<string, string>;
  toError(answer: HttpAnswer): DriverError;
}

/** Opens an API for the calls about one recipient. */
export function createApi({
  service,
  baseUrl,
  headers,
  toError,
}: Api): (signal: AbortSignal, to: string) => Promise<Call> {
  return async (signal, to) => {
    const credential = await headers(signal, to);
    return async (method, path, body, kind) => {
      const url = `${baseUrl.replace(/\/$/, "")}${path}`;
      const answer = await request({ service, url, method, headers: credential, body, signal });
      if (isSuccess(answer) || (kind === "edit" && GONE.has(answer.status))) return answer;
      throw toError(answer);
    };
  };
}

const GONE = new Set([404, 410]);

export function isSuccess({ status }: Pick<HttpAnswer, "status">): boolean {
  return status >= 200 && status < 300;
}

/** In HTML and Markdown nobody sees it. The presets skip events about texts with such a line. */
function toHtmlMark(idempotencyKey: string): string {
  return `<!-- hookline:${toMarkName(idempotencyKey)} -->`;
}

/** The name of a delivery in characters that end no mark. */
export function toMarkName(idempotencyKey: string): string {
  return idempotencyKey.replaceAll(/[^\w:.-]|--+/g, "_");
}

const WITHOUT_WIDTH = ["\u200B", "\u200C", "\u200D", "\u2060"];

/** For places that show every visible character: a digest in characters without width. Each begins with the same two. */
export function toInvisibleMark(idempotencyKey: string): string {
  const bytes = hash("sha256", idempotencyKey, "buffer").subarray(0, 8);
  const pairs = Array.from(bytes).flatMap((byte) => [byte >> 6, (byte >> 4) & 3, (byte >> 2) & 3, byte & 3]);
  return `\u2063\u2063${pairs.map((pair) => WITHOUT_WIDTH[pair]).join("")}`;
}

/** A text with its mark on a separate line. */
export function withMark(text: string, mark: string): string {
  return `${text}\n\n${mark}`;
}

/** The id that a service has given a comment. Without one, another server has answered, a proxy's sign-in page for example. */
export function requireId(id: unknown, service: string): string {
  if (typeof id === "number" && Number.isSafeInteger(id)) return String(id);
  if (typeof id === "string" && id !== "") return id;
  throw toUnreadable(service);
}
