import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toMail } from "../../../test/support/mailbox.ts";
import type { Mail } from "../../mail/source.ts";
import type { ProcessedMail } from "../../mail/watch/deliver.ts";
import type { FolderStatus } from "../../mail/watch/status.ts";
import { createMailPrinter } from "./run.ts";

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => {
    lines.push(stripVTControlCharacters(line).replace(/^\d\d:\d\d:\d\d {2}/, ""));
  });
});
afterEach(() => void vi.restoreAllMocks());

test("a line for each mail, and how far a backlog is", () => {
  const { mail, change } = createMailPrinter({ json: false });
  change(status({ state: "catching-up", remaining: 4980 }));
  mail(processed({ subject: "One" }), status({ state: "catching-up", remaining: 4979 }));
  mail(processed({ subject: "" }), status({ state: "catching-up", remaining: 4978 }));
  change(status({}));
  mail(processed({ subject: "Three" }), status({}));
  expect(lines).toEqual([
    "INBOX  catching up; 4,980 mails wait",
    "INBOX  Ann Lee <ann@example.com>  One  202  (1 of 4,980)",
    "INBOX  Ann Lee <ann@example.com>  (no subject)  202  (2 of 4,980)",
    "INBOX  watching",
    "INBOX  Ann Lee <ann@example.com>  Three  202",
  ]);
});

test("nothing that a mail says can move the cursor or begin a line", () => {
  const { mail } = createMailPrinter({ json: false });
  vi.restoreAllMocks();
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  mail(processed({ from: "\u001B[2J\u202Eevil", subject: "a\r\nb\u0007" }), status({}));
  expect(String(log.mock.lastCall?.[0])).toContain(String.raw`\u001b[2J\u202eevil  a\u000d b\u0007`);
});

test("a mail that is set aside, and how it is tried again", () => {
  const { mail } = createMailPrinter({ json: false });
  const response = { status: 400, code: "invalid_payload", eventId: "e-1" };
  mail(processed({}, { response, setAside: true }), status({}));
  expect(lines[0]).toMatch(/ set aside: 400 invalid_payload; `webhooks events replay e-1` tries it again$/);
});

test.each<[Partial<FolderStatus>, RegExp]>([
  [{ state: "login-refused", error: "no" }, /^INBOX {2}LOGIN REFUSED: no; check user, password .*; next try in 5 min$/],
  [{ state: "mailbox-gone", error: "no" }, /^INBOX {2}MAILBOX GONE: no; check .*folders; next try in 5 min$/],
  [{ state: "tls-failed", error: "no" }, /^INBOX {2}NO SAFE CONNECTION: no; next try in 5 min$/],
  [
    { state: "rejected", error: "nothing listens at 127.0.0.1:1" },
    /^INBOX {2}the service takes no mail: nothing listens at 127.0.0.1:1; it wants `webhooks serve` up,/,
  ],
  [{ state: "network", error: "Lost." }, /^INBOX {2}the mailbox cannot be reached: Lost; next try in 5 min$/],
  [{ state: "stopped", nextTryAt: undefined }, /^INBOX {2}stopped$/],
])("%j", (change, line) => {
  vi.useFakeTimers();
  createMailPrinter({ json: false }).change(status({ nextTryAt: Date.now() + 300_000, ...change }));
  vi.useRealTimers();
  expect(lines[0]).toMatch(line);
});

test("what further tries come to is not said again, unless it is something else", () => {
  const { change } = createMailPrinter({ json: false });
  const refuses = { state: "rejected", error: "nothing listens" } as const;
  change(status(refuses));
  change(status({ ...refuses, nextTryAt: Date.now() + 240_000 }));
  change(status({ ...refuses, error: "the hook answered 401" }));
  change(status({}));
  change(status(refuses));
  expect(lines).toEqual([
    expect.stringContaining("nothing listens; it wants"),
    "INBOX  still so; next try in 4 min",
    expect.stringContaining("401; it wants"),
    "INBOX  watching",
    lines[0],
  ]);
});

test("an object of JSON for each", () => {
  const { start, mail, change } = createMailPrinter({ json: true });
  start("Hookline");
  change(status({ state: "network", error: "lost", nextTryAt: 0 }));
  mail(processed({ id: "m-1", subject: "One" }), status({}));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      type: "state",
      at: expect.any(String),
      folder: "INBOX",
      state: "network",
      remaining: 0,
      error: "lost",
      nextTryAt: "1970-01-01T00:00:00.000Z",
    },
    {
      type: "mail",
      at: expect.any(String),
      folder: "INBOX",
      id: "m-1",
      from: "Ann Lee <ann@example.com>",
      subject: "One",
      answer: { status: 202, eventId: "e" },
      setAside: false,
      remaining: 0,
    },
  ]);
});

function processed(
  mail: Partial<Mail>,
  more: { setAside?: boolean; response?: Partial<ProcessedMail["response"]> } = {},
): ProcessedMail {
  const accepted = {
    status: 202,
    code: "",
    error: "",
    eventId: "e",
    hookExists: false,
    retryAfterMs: undefined,
  };
  return {
    setAside: more.setAside ?? false,
    attempts: 1,
    mail: { ...toMail("1"), ...mail },
    response: { ...accepted, ...more.response },
  };
}

function status(change: Partial<FolderStatus>): FolderStatus {
  return {
    folder: "INBOX",
    state: "watching",
    since: 0,
    remaining: 0,
    posted: 0,
    setAside: 0,
    passedOver: 0,
    lastMailAt: undefined,
    error: undefined,
    nextTryAt: undefined,
    ...change,
  };
}
