import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTestIo } from "../../../test/support/cli.ts";
import { toMail } from "../../../test/support/mailbox.ts";
import type { Mail } from "../../core/ports/mail-source.ts";
import type { ProcessedMail } from "../../mail/watch/deliver.ts";
import type { FolderStatus } from "../../core/ports/mail-status.ts";
import { createJsonPrinter, createLinePrinter } from "./run.ts";

let output: ReturnType<typeof createTestIo>;
beforeEach(() => {
  output = createTestIo("/");
});
afterEach(() => void vi.useRealTimers());

test("a line for each mail, and the progress in a backlog", () => {
  const { mail, change } = createLinePrinter(output.io);
  change(status({ state: "catching-up", remaining: 4980 }));
  mail(processed({ subject: "One" }), status({ state: "catching-up", remaining: 4979 }));
  mail(processed({ subject: "" }), status({ state: "catching-up", remaining: 4978 }));
  change(status({}));
  mail(processed({ subject: "Three" }), status({}));
  expect(lines()).toEqual([
    "INBOX  catching up; 4,980 mails wait",
    "INBOX  Ann Lee <ann@example.com>  One  202  (1 of 4,980)",
    "INBOX  Ann Lee <ann@example.com>  (no subject)  202  (2 of 4,980)",
    "INBOX  watching",
    "INBOX  Ann Lee <ann@example.com>  Three  202",
  ]);
});

test("the name of the mailbox, if there are several", () => {
  createLinePrinter(output.io, "support").change(status({}));
  expect(lines()).toEqual(["support INBOX  watching"]);
});

test("the text of a mail cannot move the cursor or begin a line", () => {
  const { mail } = createLinePrinter(output.io);
  mail(processed({ from: "\u001B[2J\u202Eevil", subject: "a\r\nb\u0007" }), status({}));
  expect(output.stdout()).toContain(String.raw`\u001b[2J\u202eevil  a\u000d b\u0007`);
});

test("a mail that is set aside, and how to replay it", () => {
  const response = { status: 400, code: "invalid_payload", eventId: "e-1" };
  createLinePrinter(output.io).mail(processed({}, { response, setAside: true }), status({}));
  expect(lines()[0]).toMatch(/ set aside: 400 invalid_payload; replay it with `webhooks events replay e-1`$/);
});

test.each<[Partial<FolderStatus>, RegExp]>([
  [{ state: "login-refused", error: "no" }, /^INBOX {2}LOGIN REFUSED: no; check user, password .*; next try in 5 min$/],
  [{ state: "mailbox-gone", error: "no" }, /^INBOX {2}MAILBOX GONE: no; check .*folders; next try in 5 min$/],
  [{ state: "tls-failed", error: "no" }, /^INBOX {2}NO SAFE CONNECTION: no; next try in 5 min$/],
  [
    { state: "refused", error: "nothing listens at 127.0.0.1:1" },
    /^INBOX {2}the service accepts no mail: nothing listens at 127.0.0.1:1; check that `webhooks serve` runs/,
  ],
  [{ state: "network", error: "Lost." }, /^INBOX {2}the mailbox cannot be reached: Lost; next try in 5 min$/],
  [{ state: "stopped", nextTryAt: undefined }, /^INBOX {2}stopped$/],
])("%j", (change, line) => {
  vi.useFakeTimers();
  createLinePrinter(output.io).change(status({ nextTryAt: Date.now() + 300_000, ...change }));
  expect(lines()[0]).toMatch(line);
});

test("a repeated failure is not described again", () => {
  const { change } = createLinePrinter(output.io);
  const refused = { state: "refused", error: "nothing listens" } as const;
  change(status(refused));
  change(status({ ...refused, nextTryAt: Date.now() + 240_000 }));
  change(status({ ...refused, error: "the hook answered 401" }));
  change(status({}));
  change(status(refused));
  expect(lines()).toEqual([
    expect.stringContaining("nothing listens; check"),
    "INBOX  no change; next try in 4 min",
    expect.stringContaining("401; check"),
    "INBOX  watching",
    lines()[0],
  ]);
});

test("one JSON object for each mail and each change", () => {
  const { mail, change } = createJsonPrinter(output.io, "imap");
  change(status({ state: "network", error: "lost", nextTryAt: 0 }));
  mail(processed({ id: "m-1", subject: "One" }), status({}));
  const objects = output.stdout().trim().split("\n");
  expect(objects.map((line) => JSON.parse(line))).toEqual([
    {
      type: "state",
      at: expect.any(String),
      mailbox: "imap",
      folder: "INBOX",
      state: "network",
      remaining: 0,
      error: "lost",
      nextTryAt: "1970-01-01T00:00:00.000Z",
    },
    {
      type: "mail",
      at: expect.any(String),
      mailbox: "imap",
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

/** Without the time of each line. */
function lines(): string[] {
  return output
    .stdout()
    .trim()
    .split("\n")
    .map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ""));
}

function processed(
  mail: Partial<Mail>,
  more: { setAside?: boolean; response?: Partial<ProcessedMail["response"]> } = {},
): ProcessedMail {
  const accepted = {
    status: 202,
    code: "",
    error: "",
    eventId: "e",
    skipped: false,
    repeated: 0,
    retryAfterMs: undefined,
  };
  return {
    setAside: more.setAside ?? false,
    repeated: false,
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
    repeated: 0,
    lastMailAt: undefined,
    error: undefined,
    nextTryAt: undefined,
    ...change,
  };
}
