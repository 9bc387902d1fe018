import { toCommand } from "../../core/shared/text/command.ts";
import { once } from "node:events";
import { didYouMean } from "../../core/shared/text/text.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { ConfigError } from "../../core/errors.ts";
import type { MailSource } from "../../core/ports/mail-source.ts";
import { type MailStore, openMailStore } from "../../mail/store.ts";
import { createMailPost, type ProcessedMail } from "../../mail/watch/deliver.ts";
import type { Mailbox } from "../../core/ports/runtime.ts";
import type { FolderStatus, MailState } from "../../core/ports/mail-status.ts";
import { createMailWatch, type MailWatch } from "../../mail/watch/watch.ts";
import { openDrivers } from "../../service/runtime/open-drivers.ts";
import { packageVersion } from "../../core/shared/system/package.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { loadConfig } from "../context.ts";
import { toServiceAddress } from "../../core/shared/system/owner.ts";
import { formatDuration, toExcerpt } from "../format.ts";
import type { ServiceFlags } from "../command.ts";
import { type CliIo, print, printJsonLine, style } from "../io.ts";

export interface MailRunFlags extends ServiceFlags {
  mailbox?: string;
}

/**
 * Watches the mailboxes and posts to the running service until the stop signal, then finishes what is in flight. Rejects with a
 * `ConfigError` if there is none, or if another process watches one.
 */
export async function runMail(flags: MailRunFlags, io: CliIo): Promise<void> {
  const read = await loadConfig(flags.config, io);
  const { mailboxes, problems: refused } = await openDrivers(read, { log: silentLog });
  const { config } = read;
  const problems = [...read.problems, ...refused.map(read.place)];
  if (problems.length > 0) throw new ConfigError(problems);
  const { hooks, gateway, store: state } = config;
  if (state.postgres) throw new ConfigError([{ file: config.file, key: "store.url", message: ONLY_IN_FOLDER }]);
  const chosen = requireMailboxes(config, mailboxes, flags.mailbox);
  const url = `${flags.url ?? toServiceAddress(gateway)}${hooks.path}/mail`;
  const watches: MailWatch[] = [];
  for (const { settings, source } of chosen) {
    const store = await requireStore(config, source);
    const name = chosen.length > 1 ? settings.name : undefined;
    const printer = flags.json ? createJsonPrinter(io, settings.name) : createLinePrinter(io, name);
    const watch = createMailWatch({
      source,
      settings,
      openStore: async () => store,
      post: createMailPost({ send: fetch, target: () => ({ url, token: hooks.token }) }),
      maxBodyBytes: () => hooks.maxBodyBytes,
      // The printer shows what would be logged.
      log: silentLog,
      onMail: printer.mail,
      onChange: printer.change,
    });
    watches.push(watch);
  }
  const stopped = once(io.stopSignal(), "abort");
  const names = chosen.map(({ source }) => source.mailbox).join(", ");
  if (!flags.json) print(io, toExcerpt(`Hookline ${packageVersion()} posts ${names} to ${url}`));
  for (const watch of watches) watch.start();
  await stopped;
  await Promise.all(watches.map((watch) => watch.close()));
}

const ONLY_IN_FOLDER =
  "`npx hookline mail run` keeps positions in the state folder. With a database the service watches the mailboxes itself: " +
  "start `npx hookline serve` with hooks.mail.autoStart.";

function requireMailboxes({ file }: ResolvedConfig, mailboxes: Mailbox[], name: string | undefined): Mailbox[] {
  const chosen = mailboxes.filter(({ settings }) => name === undefined || settings.name === name);
  if (chosen.length > 0) return chosen;
  const known = mailboxes.map(({ settings }) => settings.name);
  const message = known.length
    ? `There is no mailbox "${name}"${didYouMean(name ?? "", known)}`
    : "No mailbox is configured: run `npx hookline mail setup`.";
  throw new ConfigError([{ message, file, key: "hooks.mail" }]);
}

async function requireStore({ file, store }: ResolvedConfig, { mailbox }: MailSource): Promise<MailStore> {
  const opened = await openMailStore({ folder: store.path, mailbox });
  if (opened) return opened;
  const message =
    `Another process already watches ${mailbox}: another \`npx hookline mail run\`, or \`npx hookline serve\`. ` +
    "Stop it, or set hooks.mail.autoStart to false for `npx hookline serve`.";
  throw new ConfigError([{ message, file, key: "hooks.mail" }]);
}

/** Shows the person at the terminal, or another program, what the watch does. */
interface MailPrinter {
  mail(processed: ProcessedMail, status: FolderStatus): void;
  change(status: FolderStatus): void;
}

/** The meaning of a state for a person, and what to check. */
const SENTENCES: Record<MailState, { text: string; advice?: string; color: "green" | "yellow" | "red" }> = {
  connecting: { text: "connecting", color: "green" },
  watching: { text: "watching", color: "green" },
  "catching-up": { text: "catching up", color: "green" },
  stopped: { text: "stopped", color: "green" },
  network: { text: "the mailbox cannot be reached", color: "yellow" },
  locked: { text: "another process watches the mailbox", color: "yellow" },
  refused: {
    text: "the service accepts no mail",
    advice: "check that `npx hookline serve` runs with the mail preset and this hooks.token",
    color: "yellow",
  },
  "store-failed": { text: "results cannot be stored", color: "red" },
  "tls-failed": { text: "NO SAFE CONNECTION", color: "red" },
  stuck: { text: "STUCK", advice: "look at the mails in this folder; they are tried again", color: "red" },
  "mailbox-gone": { text: "MAILBOX GONE", advice: "check hooks.mail.source.folders", color: "red" },
  "login-refused": {
    text: "LOGIN REFUSED",
    advice: "check user, password or oauth of hooks.mail.source",
    color: "red",
  },
};

/** A line for each mail and each change. `mailbox`: its name, if there are several. */
export function createLinePrinter(io: CliIo, mailbox?: string): MailPrinter {
  const placeOf = ({ folder }: FolderStatus): string => [mailbox, folder].filter(Boolean).join(" ");
  /** The finished mails of each folder's backlog. */
  const done = new Map<string, number>();
  const lastStatus = new Map<string, FolderStatus>();
  return {
    mail(processed, status) {
      const count = status.state === "catching-up" ? (done.get(status.folder) ?? 0) + 1 : 0;
      done.set(status.folder, count);
      const progress = count > 0 ? `(${formatNumber(count)} of ${formatNumber(count + status.remaining)})` : undefined;
      printLine(io, placeOf(status), [...describeMail(processed), progress].filter(Boolean).join("  "));
    },
    change(status) {
      const last = lastStatus.get(status.folder);
      lastStatus.set(status.folder, status);
      const isRepeated = last?.state === status.state && last.error === status.error;
      const { nextTryAt } = status;
      const nextTry =
        nextTryAt === undefined ? undefined : `next try in ${formatDuration(Math.max(1000, nextTryAt - Date.now()))}`;
      const parts = [...(isRepeated ? ["no change"] : describeStatus(status)), nextTry];
      printLine(io, placeOf(status), parts.filter(Boolean).join("; "));
    },
  };
}

/** `13:04:05  INBOX  …`, with several mailboxes `13:04:05  support INBOX  …` */
function printLine(io: CliIo, place: string, text: string): void {
  const time = style("dim", new Date().toTimeString().slice(0, 8));
  print(io, `${time}  ${toExcerpt(place)}  ${text}`);
}

/** Sender, subject and result: `Ann <ann@example.com>`, `Lunch?`, `202`. */
function describeMail({ mail, response, setAside }: ProcessedMail): string[] {
  const { status, code, eventId } = response;
  const answer = toExcerpt([status, code].filter(Boolean).join(" "));
  const replay = eventId ? `; replay it with \`${toCommand("events replay", eventId)}\`` : "";
  const result = setAside ? style("red", `set aside: ${answer}${replay}`) : style("green", answer);
  return [toExcerpt(mail.from), toExcerpt(mail.subject) || style("dim", "(no subject)"), result];
}

function describeStatus({ state, error, remaining }: FolderStatus): (string | undefined)[] {
  const { text, advice, color } = SENTENCES[state];
  const reason = error && toExcerpt(error).replace(/\.$/, "");
  const backlog = state === "catching-up" ? `${formatNumber(remaining)} mails wait` : undefined;
  return [[style(color, text), reason].filter(Boolean).join(": "), backlog, advice];
}

/** An object of JSON for each mail and each change. */
export function createJsonPrinter(io: CliIo, mailbox: string): MailPrinter {
  const printObject = (type: string, value: object): void =>
    printJsonLine(io, { type, at: new Date().toISOString(), mailbox, ...value });
  return {
    mail({ mail: { id, from, subject }, response: { status, code, eventId }, setAside }, { folder, remaining }) {
      const answer = { status, code: code || undefined, eventId };
      printObject("mail", { folder, id, from, subject, answer, setAside, remaining });
    },
    change({ folder, state, remaining, error, nextTryAt }) {
      const next = nextTryAt === undefined ? undefined : new Date(nextTryAt).toISOString();
      printObject("state", { folder, state, remaining, error, nextTryAt: next });
    },
  };
}

/** 4,980 */
function formatNumber(count: number): string {
  return count.toLocaleString("en-US");
}
