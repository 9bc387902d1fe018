import { once } from "node:events";
import { styleText } from "node:util";
import { readConfig } from "../../config/load.ts";
import { packageVersion } from "../../config/package.ts";
import type { ResolvedConfig } from "../../config/types.ts";
import { ConfigError } from "../../errors.ts";
import { createMailSource } from "../../mail/index.ts";
import type { MailSource } from "../../mail/source.ts";
import { openMailStore } from "../../mail/store/sqlite.ts";
import type { MailStore } from "../../mail/store/store.ts";
import type { ProcessedMail } from "../../mail/watch/deliver.ts";
import { createMailPost } from "../../mail/watch/post.ts";
import type { FolderStatus, MailState } from "../../mail/watch/status.ts";
import { createMailWatch } from "../../mail/watch/watch.ts";
import { silentLog, toPrintable } from "../../telemetry/log.ts";
import { locateConfig, serviceAddress } from "../context.ts";
import type { CliIo } from "../io.ts";
import type { ServiceFlags } from "../operator-client.ts";

export interface MailRunFlags extends ServiceFlags {
  json: boolean;
}

/**
 * Watches the mailbox and posts to the running service until SIGTERM or SIGINT, then finishes what is in flight and exits 0; a
 * second signal exits at once. Rejects with a `ConfigError` where there is no mailbox, or another process watches it.
 */
export async function runMail(flags: MailRunFlags, io: CliIo): Promise<void> {
  const { config, problems } = await readConfig(locateConfig(flags.config, io), io.env);
  if (problems.length > 0) throw new ConfigError(problems);
  const source = await requireSource(config);
  const store = requireStore(config, source);

  const { hooks, gateway } = config;
  const url = `${flags.url ?? serviceAddress(gateway)}${hooks.path}/mail`;
  const printer = createMailPrinter({ json: flags.json });
  const watch = createMailWatch({
    source,
    settings: hooks.mail,
    openStore: () => store,
    post: createMailPost({ send: fetch, target: () => ({ url, token: hooks.token }) }),
    maxBodyBytes: () => hooks.maxBodyBytes,
    // A person looks on: what the log would say is printed.
    log: silentLog,
    onMail: printer.mail,
    onChange: printer.change,
  });
  const stopped = once(io.stopSignal(), "abort");
  printer.start(`Hookline ${packageVersion()} posts ${source.mailbox} to ${url}`);
  watch.start();
  await stopped;
  await watch.close();
}

async function requireSource({ file, hooks, plugged }: ResolvedConfig): Promise<MailSource> {
  const source = await createMailSource(hooks.mail.source, plugged.mailSource);
  if (source) return source;
  const message = "There is no mailbox to watch: run `webhooks mail setup`.";
  throw new ConfigError([{ message, file, key: "hooks.mail.source" }]);
}

function requireStore({ file, store: { path } }: ResolvedConfig, { mailbox }: MailSource): MailStore {
  const store = openMailStore({ folder: path, mailbox });
  if (store) return store;
  const message =
    `${mailbox} is watched already: by another \`webhooks mail run\`, or by \`webhooks serve\`, ` +
    "which does so itself unless hooks.mail.autoStart is false.";
  throw new ConfigError([{ message, file, key: "hooks.mail" }]);
}

export interface MailPrinter {
  start(sentence: string): void;
  mail(processed: ProcessedMail, status: FolderStatus): void;
  change(status: FolderStatus): void;
}

/** Shows a watch to the person at the terminal: a line for each mail and each change, or an object of JSON. */
export function createMailPrinter({ json }: { json: boolean }): MailPrinter {
  return json ? createJsonPrinter() : createLinePrinter();
}

/** What a state means to a person, and what to look at. */
const SENTENCES: Record<MailState, { text: string; advice?: string; colour: "green" | "yellow" | "red" }> = {
  connecting: { text: "connecting", colour: "green" },
  watching: { text: "watching", colour: "green" },
  "catching-up": { text: "catching up", colour: "green" },
  stopped: { text: "stopped", colour: "green" },
  network: { text: "the mailbox cannot be reached", colour: "yellow" },
  locked: { text: "watched by another process", colour: "yellow" },
  rejected: {
    text: "the service takes no mail",
    advice: "it wants `webhooks serve` up, the mail preset and this hooks.token",
    colour: "yellow",
  },
  "store-failed": { text: "results cannot be stored", colour: "red" },
  "tls-failed": { text: "NO SAFE CONNECTION", colour: "red" },
  "mailbox-gone": { text: "MAILBOX GONE", advice: "check hooks.mail.source.folders", colour: "red" },
  "login-refused": {
    text: "LOGIN REFUSED",
    advice: "check user, password or oauth of hooks.mail.source",
    colour: "red",
  },
};

function createLinePrinter(): MailPrinter {
  /** How many mails of a folder's backlog are done. */
  const done = new Map<string, number>();
  /** What was said last of each folder. */
  const said = new Map<string, FolderStatus>();
  return {
    start: (sentence) => console.log(toLine(sentence)),
    mail(processed, status) {
      const count = status.state === "catching-up" ? (done.get(status.folder) ?? 0) + 1 : 0;
      done.set(status.folder, count);
      const progress = count > 0 ? `(${toCount(count)} of ${toCount(count + status.remaining)})` : undefined;
      console.log(mailLine(processed, status.folder, progress));
    },
    change(status) {
      const last = said.get(status.folder);
      said.set(status.folder, status);
      const isSame = last?.state === status.state && last.error === status.error;
      console.log(isSame ? againLine(status) : changeLine(status));
    },
  };
}

/** `13:04:05  INBOX  Ann <ann@example.com>  Lunch?  202` */
function mailLine({ mail, response, setAside }: ProcessedMail, folder: string, progress: string | undefined): string {
  const said = [response.status, response.code].filter(Boolean).join(" ");
  const replay = response.eventId && `; \`webhooks events replay ${toLine(response.eventId)}\` tries it again`;
  const outcome = setAside ? styleText("red", `set aside: ${toLine(said)}${replay ?? ""}`) : styleText("green", said);
  const subject = toLine(mail.subject) || styleText("dim", "(no subject)");
  return [toTime(Date.now()), toLine(folder), toLine(mail.from), subject, outcome, progress]
    .filter((part) => part !== undefined)
    .join("  ");
}

function changeLine({ folder, state, error, nextTryAt, remaining }: FolderStatus): string {
  const { text, advice, colour } = SENTENCES[state];
  const parts = [
    [styleText(colour, text), error && toClause(error)].filter(Boolean).join(": "),
    state === "catching-up" ? `${toCount(remaining)} mails wait` : undefined,
    advice,
    nextTry(nextTryAt),
  ];
  return `${toTime(Date.now())}  ${toLine(folder)}  ${parts.filter(Boolean).join("; ")}`;
}

/** A further try that came to the same: what it says and advises was said. */
function againLine({ folder, nextTryAt }: FolderStatus): string {
  const parts = ["still so", nextTry(nextTryAt)].filter(Boolean);
  return `${toTime(Date.now())}  ${toLine(folder)}  ${parts.join("; ")}`;
}

function nextTry(at: number | undefined): string | undefined {
  return at === undefined ? undefined : `next try in ${toWait(at - Date.now())}`;
}

function createJsonPrinter(): MailPrinter {
  const print = (type: string, value: object): void =>
    console.log(JSON.stringify({ type, at: new Date().toISOString(), ...value }));
  return {
    start() {},
    mail({ mail: { id, from, subject }, response: { status, code, eventId }, setAside }, { folder, remaining }) {
      const answer = { status, code: code || undefined, eventId };
      print("mail", { folder, id, from, subject, answer, setAside, remaining });
    },
    change({ folder, state, remaining, error, nextTryAt }) {
      const next = nextTryAt === undefined ? undefined : new Date(nextTryAt).toISOString();
      print("state", { folder, state, remaining, error, nextTryAt: next });
    },
  };
}

/** Text from outside as a part of a line. */
function toLine(text: string): string {
  return toPrintable(text).replaceAll(/\s+/g, " ").trim();
}

/** A sentence as a part of a longer one. */
function toClause(sentence: string): string {
  return toLine(sentence).replace(/\.$/, "");
}

function toTime(at: number): string {
  return styleText("dim", new Date(at).toTimeString().slice(0, 8));
}

/** 4,980 */
function toCount(count: number): string {
  return count.toLocaleString("en-US");
}

function toWait(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
