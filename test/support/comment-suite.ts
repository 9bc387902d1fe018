import { describe, expect, test } from "vitest";
import type { ChannelDriver } from "../../src/core/ports/channel.ts";
import { describeRemoteChannel } from "../../src/contracts/channel.ts";
import { type CommentServer, type CommentService, startComments } from "./comment-server.ts";
import { shownText } from "./comments.ts";
import { openFaultServer } from "./fault-server.ts";

/** A channel that writes comments, on a double of its service. */
export interface CommentSubject {
  service: CommentService;
  open(baseUrl: string): ChannelDriver;
  to: string;
  /** A form of `to` that names a thread. */
  thread?: string;
  unknown: string;
  malformed: string[];
  /** The form in which the service stores `Hello @ada.` in the delivery `d:0`. */
  raw: unknown;
  /** The text of a stored comment, as it was sent. Default: the effects of `neutralize` are taken back. */
  toText?(stored: string): string;
}

export const TOKEN = "token-for-tests-0000";

/** Rules for each channel that writes comments. */
export function describeComments(
  name: string,
  { service, open, raw, toText = shownText, ...recipients }: CommentSubject,
): void {
  describeRemoteChannel({ describe, test }, name, async () => {
    const server = await startComments(service);
    const { url, ...faultable } = await openFaultServer(server, server.baseUrl);
    return {
      ...faultable,
      ...recipients,
      channel: open(url),
      secret: TOKEN,
      received: async () => server.texts().map(toText),
      faults: {
        rateLimited: { kind: "answer", status: 429, headers: { "retry-after": "9" }, body: "{}" },
        retryAfterMs: 9000,
        refusedForGood: { kind: "answer", status: 403, body: JSON.stringify(service.refuse(403).body) },
        brokenDown: { kind: "answer", status: 503, body: "<html>" },
      },
    };
  });

  describe(`comments of ${name}`, () => {
    const never = new AbortController().signal;
    const start = async (): Promise<{ server: CommentServer; send: ChannelDriver["send"] }> => {
      const server = await startComments(service);
      const channel = open(server.baseUrl);
      return { server, send: (message, signal) => channel.send(message, signal) };
    };
    const hello = { to: recipients.to, text: "Hello @ada.", idempotencyKey: "d:0" };

    test("a neutral text", async () => {
      const { server, send } = await start();
      await send(hello, never);
      expect(server.texts()).toEqual([raw]);
      await server.close();
    });

    const marks = raw !== "Hello @ada.";
    test.runIf(marks)("a comment whose answer was lost is found by its mark, and not written twice", async () => {
      const { server, send } = await start();
      server.loseAnswer();
      await expect(send(hello, never)).rejects.toMatchObject({ retryable: true });
      const found = await send({ ...hello, mayBeSent: true }, never);
      expect(found.messageId).toEqual(expect.any(String));
      expect(await send({ ...hello, mayBeSent: true }, never)).toEqual(found);
      expect(server.texts()).toHaveLength(1);
      await send({ ...hello, mayBeSent: true, idempotencyKey: "d:1" }, never);
      expect(server.texts()).toHaveLength(2);
      await server.close();
    });

    const { canUpdate } = open("http://127.0.0.1");
    test.runIf(canUpdate)("an update replaces the text; of a comment that is gone, a new one is written", async () => {
      const { server, send } = await start();
      const { messageId = "" } = await send(hello, never);
      expect(await send({ ...hello, text: "Done.", replaces: messageId }, never)).toEqual({ messageId });
      expect(server.texts().map(toText)).toEqual(["Done."]);
      await send({ ...hello, text: "Again.", replaces: `${messageId.slice(0, -1)}9` }, never);
      expect(server.texts().map(toText)).toEqual(["Done.", "Again."]);
      await server.close();
    });
  });
}
