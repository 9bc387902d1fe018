import type {
  ReviewVerdict,
  ChangeDiff,
  ChannelDriver,
  LineComment,
  OutgoingMessage,
  Review,
} from "../../../core/ports/channel.ts";
import { createOpenFile, type FileService } from "../files.ts";
import { type Call, isSuccess } from "../http.ts";
import { hasOwnMark, type Marked, toHtmlMark } from "./mark.ts";
import { neutralize, type NeutralizeOptions } from "./neutralize.ts";

/** How one service takes reviews. */
export interface ReviewService<Body, C = Call> {
  readDiff(to: string, commit: string, call: C): Promise<ChangeDiff | undefined>;
  /** The beginning of a review's text, if nothing else shows its verdict. */
  introduce?(verdict: ReviewVerdict): string;
  /** Adds a review, or completes one that an earlier attempt has begun. Resolves to the id of its text. */
  add(to: string, review: RenderedReview<Body>, call: C): Promise<{ messageId: string; warnings: string[] }>;
}

/** A review in the form of its service. */
export interface RenderedReview<Body> extends Omit<Review, "comments"> {
  body: Body;
  mark: string;
  /** Each with its own mark, because the service sends an event about each. */
  comments: (LineComment & { body: Body; mark: string })[];
  /** An earlier attempt may have been accepted, as a whole or in part. */
  mayBeSent: boolean;
  /** Whether a text has a mark of this store. */
  isOwn(text: string): boolean;
}

/** How one service takes comments. `Body` is a comment's text as the service takes it, `C` how its API is called. */
export interface CommentService<Body, C = Call> extends Pick<
  ChannelDriver,
  "addressOf" | "checkRecipient" | "limit" | "measureMarkdown" | "name"
> {
  /** The mark that the service hides behind a text, the same for each attempt. Default: an HTML comment. */
  toMark?(marked: Marked, text: string): string;
  /** The text for the service, with the mark that `toMark` gives for it. */
  render(message: Pick<OutgoingMessage, "format" | "isNotice" | "text">, toMark: ToMark): Body | Promise<Body>;
  /** Adds a comment. Resolves to the id that events about it name. */
  add(to: string, body: Body, call: C): Promise<string>;
  /** Replaces the text of a comment. Resolves to false if it is gone. Absent: a comment stays as it is. */
  edit?(to: string, messageId: string, body: Body, call: C): Promise<boolean>;
  /** Deletes a comment. Default: its text becomes a line that says that it is not needed any more. */
  remove?(to: string, messageId: string, call: C): Promise<unknown>;
  /** Looks for the mark in the newest comments. Resolves to the id. */
  find(to: string, mark: string, call: C): Promise<string | undefined>;
  reviews?: ReviewService<Body, C>;
  /** Files that its texts name. */
  files?: Omit<FileService, "authorize">;
  /** Shows that an answer is being written. Resolves to what takes it away again; undefined: nothing has to. */
  startWorking?(to: string, call: C): Promise<((call: C) => Promise<unknown>) | undefined>;
}

/** `text`: what is marked. */
type ToMark = (text?: string) => string;

const STOP_TIMEOUT_MS = 10_000;

/** A channel that writes comments into another service. */
export function createCommentChannel<Body, C = Call>(
  {
    toMark = toHtmlMark,
    render,
    add,
    edit,
    remove,
    find,
    reviews,
    files,
    startWorking,
    ...service
  }: CommentService<Body, C>,
  open: {
    (signal: AbortSignal, to: string, readEvent?: OutgoingMessage["readEvent"]): Promise<C>;
    authorize?: ChannelDriver["authorize"];
  },
): ChannelDriver {
  return {
    ...service,
    authorize: open.authorize,
    openFile: files && open.authorize && createOpenFile({ ...files, authorize: open.authorize }),
    needsAllow: true,
    canUpdate: edit !== undefined,
    async send(message, signal) {
      const { to, replaces, mayBeSent, review, readEvent } = message;
      if (review && reviews) {
        return reviews.add(to, await renderReview(message, review, reviews), await open(signal, to, readEvent));
      }
      const { body, mark } = await renderMarked(message);
      const call = await open(signal, to, readEvent);
      if (replaces !== undefined && (await edit?.(to, replaces, body, call))) return { messageId: replaces };
      const found = mayBeSent ? await find(to, mark, call) : undefined;
      return { messageId: found ?? (await add(to, body, call)) };
    },
    remove:
      edit &&
      (async (to, messageId, signal, sign) => {
        const call = await open(signal, to);
        const mark: ToMark = (shown = "") => toMark({ idempotencyKey: messageId, sign }, shown);
        if (remove) await remove(to, messageId, call);
        else await edit(to, messageId, await render({ text: "(See above.)" }, mark), call);
      }),
    readDiff: reviews && (async (to, commit, signal) => reviews.readDiff(to, commit, await open(signal, to))),
    startWorking:
      startWorking &&
      (async (to, signal) => {
        const stop = await startWorking(to, await open(signal, to));
        return async () => void (await stop?.(await open(AbortSignal.timeout(STOP_TIMEOUT_MS), to)));
      }),
  };

  async function renderMarked(message: OutgoingMessage): Promise<{ body: Body; mark: string }> {
    const { idempotencyKey, sign } = message;
    let mark = "";
    const body = await render(message, (shown = "") => (mark = toMark({ idempotencyKey, sign }, shown)));
    return { body, mark };
  }

  async function renderReview(
    message: OutgoingMessage,
    review: Review,
    { introduce }: ReviewService<Body, C>,
  ): Promise<RenderedReview<Body>> {
    const { text, idempotencyKey, sign, mayBeSent = false } = message;
    const comments = review.comments.map(async (comment, index) => ({
      ...comment,
      ...(await renderMarked({ ...message, text: comment.text, idempotencyKey: `${idempotencyKey}:${index}` })),
    }));
    return {
      ...review,
      ...(await renderMarked({ ...message, text: `${introduce?.(review.verdict) ?? ""}${text}` })),
      comments: await Promise.all(comments),
      mayBeSent,
      isOwn: (written) => sign !== undefined && hasOwnMark(written, sign),
    };
  }
}

/** The statuses that say that a comment, or a reaction, does not exist any more. */
export const GONE = [404, 410];

/** Edits and deletes comments at their own paths. `pathOf`: undefined for a message that is no comment of the place. */
export function changeAtPath(
  method: "PATCH" | "PUT",
  pathOf: (to: string, messageId: string) => string | undefined,
): {
  edit: (to: string, messageId: string, body: unknown, call: Call) => Promise<boolean>;
  remove: (to: string, messageId: string, call: Call) => Promise<void>;
} {
  return {
    async edit(to, messageId, body, call) {
      const path = pathOf(to, messageId);
      return path !== undefined && isSuccess(await call(method, path, body, GONE));
    },
    async remove(to, messageId, call) {
      const path = pathOf(to, messageId);
      if (path !== undefined) await call("DELETE", path, undefined, GONE);
    },
  };
}

/** The comment whose text ends with the mark. */
export function findMarked(
  comments: Record<string, unknown>[] | undefined,
  mark: string,
  textOf: (comment: Record<string, unknown>) => unknown = ({ body }) => body,
): Record<string, unknown> | undefined {
  return comments?.find((comment) => String(textOf(comment)).endsWith(mark));
}

/** A neutral text with its mark on a separate line. */
export function toMarkedText(text: string, toMark: ToMark, options: NeutralizeOptions): string {
  const neutral = neutralize(text, options);
  return `${neutral}\n\n${toMark(neutral)}`;
}
