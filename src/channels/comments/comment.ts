import { hash } from "node:crypto";
import type { ChannelDriver, OutgoingMessage } from "../driver.ts";
import type { Call } from "../http.ts";
import { neutralize, type NeutralizeOptions } from "./neutralize.ts";

/** How one service takes comments. `Body` is a comment's text as the service takes it, `C` how its API is called. */
export interface CommentPlace<Body, C = Call> extends Pick<
  ChannelDriver,
  "addressOf" | "checkRecipient" | "limit" | "name"
> {
  /** The mark that the place hides, the same for each attempt. Default: an HTML comment. */
  toMark?(idempotencyKey: string): string;
  /** The text for the place, with the mark if the place can hide one. */
  render(message: Pick<OutgoingMessage, "format" | "text">, mark: string): Body | Promise<Body>;
  /** Adds a comment. Resolves to the id that events about it name. */
  add(to: string, body: Body, call: C): Promise<string>;
  /** Replaces the text of a comment. Resolves to false if it is gone. */
  edit(to: string, messageId: string, body: Body, call: C): Promise<boolean>;
  /** Looks for the mark in the newest comments. Resolves to the id. */
  find(to: string, mark: string, call: C): Promise<string | undefined>;
  /** Shows that an answer is being written. Resolves to what takes it away again; undefined: nothing has to. */
  startWorking?(to: string, call: C): Promise<((call: C) => Promise<unknown>) | undefined>;
}

const STOP_TIMEOUT_MS = 10_000;

/** A channel that writes comments into another service. */
export function createCommentChannel<Body, C = Call>(
  { toMark = toHtmlMark, render, add, edit, find, startWorking, ...place }: CommentPlace<Body, C>,
  open: (signal: AbortSignal, to: string) => Promise<C>,
): ChannelDriver {
  return {
    ...place,
    needsAllow: true,
    canUpdate: true,
    async send({ to, text, format, idempotencyKey, replaces, mayBeSent }, signal) {
      const mark = toMark(idempotencyKey);
      const body = await render({ text, format }, mark);
      const call = await open(signal, to);
      if (replaces !== undefined && (await edit(to, replaces, body, call))) return { messageId: replaces };
      const found = mayBeSent ? await find(to, mark, call) : undefined;
      return { messageId: found ?? (await add(to, body, call)) };
    },
    startWorking:
      startWorking &&
      (async (to, signal) => {
        const stop = await startWorking(to, await open(signal, to));
        return async () => void (await stop?.(await open(AbortSignal.timeout(STOP_TIMEOUT_MS), to)));
      }),
  };
}

/** The statuses that say that a comment, or a reaction, does not exist any more. */
export const GONE = [404, 410];

/** The comment whose text ends with the mark. */
export function findMarked(
  comments: Record<string, unknown>[] | undefined,
  mark: string,
  textOf: (comment: Record<string, unknown>) => unknown = ({ body }) => body,
): Record<string, unknown> | undefined {
  return comments?.find((comment) => String(textOf(comment)).endsWith(mark));
}

/** A neutral text with its mark on a separate line. */
export async function toMarkedText(text: string, mark: string, options: NeutralizeOptions): Promise<string> {
  return `${await neutralize(text, options)}\n\n${mark}`;
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
