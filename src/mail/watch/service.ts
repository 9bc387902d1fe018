import { isDeepStrictEqual } from "node:util";
import type { Drivers } from "../../config/plugins.ts";
import type { ResolvedConfig } from "../../config/types.ts";
import { messageOf } from "../../errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { MappingIndex } from "../../mapping/mapping-index.ts";
import type { MailSource } from "../source.ts";
import { openMailStore } from "../store/open.ts";
import { createMailPost } from "./post.ts";
import { type MailStatus, needsOperator, toMailStatus } from "./status.ts";
import { createMailWatch, type MailWatch } from "./watch.ts";

export interface MailServiceOptions {
  store: ResolvedConfig["store"];
  /** The service's own entry: a mail is processed like every other hook. */
  send(request: Request): Promise<Response>;
  telemetry: Telemetry;
}

/** The part of a program that concerns mail. */
interface MailProgram {
  config: ResolvedConfig;
  mappings: Pick<MappingIndex, "maxBodyBytes">;
  drivers: Pick<Drivers, "mailSources">;
  /** undefined: no mailbox is configured. */
  mailSource: MailSource | undefined;
}

export interface MailService {
  /** Follows this program from now on. Restarts the watch if its configuration changed; otherwise retries at once what waits. */
  use(program: MailProgram): void;
  /** undefined: no mailbox is configured. */
  status(): MailStatus | undefined;
  /** Throws if no mail arrives until an operator has fixed something. */
  assertReady(): void;
  /** An external notification says that the mailbox has changed. */
  notify(): void;
  close(): Promise<void>;
}

/** Runs the mail watch of the current configuration, across reloads. */
export function createMailService({ store, send, telemetry }: MailServiceOptions): MailService {
  const { log } = telemetry;
  let current: MailProgram | undefined;
  /** The program that the watch was created from. */
  let watched: MailProgram | undefined;
  let watch: MailWatch | undefined;
  let closed = false;
  /** A watch closes before the next one starts, since both need the mailbox lock. */
  let queue: Promise<void> = Promise.resolve();

  return {
    use(program) {
      if (closed) return;
      current = program;
      if (watched && isSame(watched, program)) watch?.nudge();
      else replaceWatch(program);
    },
    status: () => watch?.status() ?? (watched?.mailSource && toMailStatus(watched.mailSource, [])),
    assertReady() {
      const status = watch?.status();
      if (status && needsOperator(status.state)) throw new Error(status.error);
    },
    notify: () => watched?.mailSource?.notify?.(),
    close() {
      closed = true;
      return enqueue(async () => watch?.close());
    },
  };

  function replaceWatch(program: MailProgram): void {
    const previous = watch;
    const next = createWatch(program);
    watched = program;
    watch = next;
    void enqueue(async () => {
      await previous?.close();
      next?.start();
    });
  }

  function enqueue(step: () => Promise<void>): Promise<void> {
    queue = queue.then(step).catch((error: unknown) => {
      log.error("mail watch failed", { reason: messageOf(error) });
    });
    return queue;
  }

  function createWatch(program: MailProgram): MailWatch | undefined {
    const source = program.mailSource;
    const settings = program.config.hooks.mail;
    if (!source || !settings.autoStart) return undefined;
    const hooks = (): ResolvedConfig["hooks"] => (current ?? program).config.hooks;
    return createMailWatch({
      source,
      settings,
      openStore: () => openMailStore(store, source.mailbox),
      // The request never reaches the network, so the host is only a placeholder.
      post: createMailPost({
        send,
        target: () => ({ url: `http://127.0.0.1${hooks().path}/mail`, token: hooks().token }),
      }),
      maxBodyBytes: () => (current ?? program).mappings.maxBodyBytes("mail", hooks().maxBodyBytes),
      log,
    });
  }
}

/** A plugin that was changed brings another definition. */
function isSame(one: MailProgram, other: MailProgram): boolean {
  const definitionOf = ({ config, drivers }: MailProgram) => drivers.mailSources[config.hooks.mail.source?.kind ?? ""];
  return definitionOf(one) === definitionOf(other) && isDeepStrictEqual(one.config.hooks.mail, other.config.hooks.mail);
}
