import { isDeepStrictEqual } from "node:util";
import type { Drivers } from "../../core/config/plugins.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import type { MappingIndex } from "../../core/mapping/mapping-index.ts";
import type { MailStatus } from "../../core/ports/mail-status.ts";
import type { Mailbox } from "../../core/ports/runtime.ts";
import type { MailStore } from "../store.ts";
import { createMailPost } from "./deliver.ts";
import { standsStill, toMailStatus } from "./status.ts";
import { createMailWatch, type MailWatch } from "./watch.ts";

export interface MailServiceOptions {
  /** Opens the store of a mailbox; undefined while another process has it. */
  openStore(mailbox: string): Promise<MailStore | undefined>;
  /** The service's own entry: a mail is processed like every other hook. */
  send(request: Request): Promise<Response>;
  telemetry: Telemetry;
  /** Called when a folder of the mailbox enters another state, and after each further failed attempt. */
  changed?(mailbox: MailStatus): void;
}

interface MailRuntime {
  config: ResolvedConfig;
  mappings: Pick<MappingIndex, "maxBodyBytes">;
  drivers: Pick<Drivers, "mailSources">;
  mailboxes: Mailbox[];
}

export interface MailService {
  /** Follows this runtime from now on. Restarts each watch whose configuration changed; the others retry at once what waits. */
  use(runtime: MailRuntime): void;
  /** Another node has released a lease: the mailboxes that are locked may be free. */
  retryLocked(): void;
  /** Lets the watch of this mailbox try now. False if there is none. */
  retry(name: string): boolean;
  status(): MailStatus[];
  /** Throws if no mail arrives from a mailbox until an operator has fixed something. */
  assertReady(): void;
  /** The mailboxes that are watched or could be, for notifications from outside. */
  mailboxes(): Mailbox[];
  close(): Promise<void>;
}

interface Watched extends Mailbox {
  /** The driver that made its source; a changed plugin has another one. */
  definition: unknown;
  /** undefined: it does not start by itself. */
  watch: MailWatch | undefined;
}

/** Runs the mail watches of the current configuration, across reloads. */
export function createMailService({ openStore, send, telemetry, changed }: MailServiceOptions): MailService {
  const { log } = telemetry;
  let current: MailRuntime | undefined;
  let watched: Watched[] = [];
  let closed = false;
  /** Watches close before others start, since two of the same mailbox need its lock. */
  let queue: Promise<void> = Promise.resolve();

  return {
    use(runtime) {
      if (closed) return;
      current = runtime;
      const next = runtime.mailboxes.map((mailbox) => toWatched(mailbox, runtime));
      for (const { watch } of next.filter((each) => watched.includes(each))) watch?.nudge();
      void replace(next);
    },
    retryLocked() {
      for (const { watch } of watched) if (watch?.status().state === "locked") watch.nudge();
    },
    retry(name) {
      const found = watched.find(({ settings }) => settings.name === name);
      found?.watch?.nudge();
      return found !== undefined;
    },
    status: () => watched.map(({ settings, source, watch }) => watch?.status() ?? toMailStatus(settings, source, [])),
    assertReady() {
      const failed = watched.map(({ watch }) => watch?.status()).find((status) => status && standsStill(status.state));
      if (failed) throw new Error(failed.error);
    },
    mailboxes: () => watched,
    close() {
      closed = true;
      return replace([]);
    },
  };

  /** The present one, unless its configuration has changed. */
  function toWatched(mailbox: Mailbox, runtime: MailRuntime): Watched {
    const { settings } = mailbox;
    const definition = runtime.drivers.mailSources[settings.source?.kind ?? ""];
    const isSame = (other: Watched): boolean =>
      other.definition === definition && isDeepStrictEqual(other.settings, settings);
    return watched.find(isSame) ?? { ...mailbox, definition, watch: createWatch(mailbox, runtime) };
  }

  function replace(next: Watched[]): Promise<void> {
    const removed = watched.filter((each) => !next.includes(each));
    const added = next.filter((each) => !watched.includes(each));
    watched = next;
    queue = swap(queue, removed, added);
    return queue;
  }

  async function swap(previous: Promise<void>, removed: Watched[], added: Watched[]): Promise<void> {
    await previous;
    await Promise.allSettled(removed.flatMap(({ watch }) => watch?.close() ?? []));
    for (const { watch } of added) watch?.start();
  }

  function createWatch({ settings, source }: Mailbox, initial: MailRuntime): MailWatch | undefined {
    if (!settings.autoStart) return undefined;
    const hooks = (): ResolvedConfig["hooks"] => (current ?? initial).config.hooks;
    const watch: MailWatch = createMailWatch({
      source,
      settings,
      openStore: () => openStore(source.mailbox),
      // The request never reaches the network, so the host is only a placeholder.
      post: createMailPost({
        send,
        target: () => ({ url: `http://127.0.0.1${hooks().path}/mail`, token: hooks().token }),
      }),
      maxBodyBytes: () => (current ?? initial).mappings.maxBodyBytes("mail", hooks().maxBodyBytes),
      log,
      onChange: () => changed?.(watch.status()),
    });
    return watch;
  }
}
