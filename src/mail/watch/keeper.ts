import { isDeepStrictEqual } from "node:util";
import type { ResolvedConfig } from "../../config/resolved.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { MailSource } from "../port.ts";
import type { MailWatch } from "./mail-watch.ts";
import { createPatientWatch } from "./patient-watch.ts";
import { createMailPost } from "./post.ts";
import { type MailStatus, needsOperator, toMailStatus } from "./states.ts";

export interface KeeperOptions {
  /** The state folder. */
  folder: string;
  /** The service's own door: a mail takes the way of every hook. */
  send(request: Request): Promise<Response>;
  log: Log;
}

/** What a program says of mail. */
interface MailProgram {
  config: ResolvedConfig;
  /** undefined: no mailbox is configured. */
  mailSource: MailSource | undefined;
}

export interface MailKeeper {
  /**
   * Watches what the program says, from now on: begins, ends or begins anew where that has changed. Where it has not, what
   * waits for its next try is tried at once.
   */
  use(program: MailProgram): void;
  /** undefined: no mailbox is configured. */
  status(): MailStatus | undefined;
  /** Throws where no mail comes until an operator has mended something. */
  requireWell(): void;
  /** Something outside says that the mailbox has changed. */
  notify(): void;
  close(): Promise<void>;
}

/** Keeps the watch that the configuration asks for, across reloads. */
export function createMailKeeper({ folder, send, log }: KeeperOptions): MailKeeper {
  /** The program that serves now, and the one that the watch was made from. */
  let current: MailProgram | undefined;
  let used: MailProgram | undefined;
  let watch: MailWatch | undefined;
  let closed = false;
  /** One watch ends before the next begins: they want the same lock. */
  let turn: Promise<void> = Promise.resolve();

  return {
    use(program) {
      if (closed) return;
      current = program;
      if (used && isSame(used, program)) watch?.nudge();
      else replace(program);
    },
    status: () => watch?.status() ?? (used?.mailSource && toMailStatus(used.mailSource, [])),
    requireWell() {
      const status = watch?.status();
      if (status && needsOperator(status.state)) throw new Error(status.error);
    },
    notify: () => used?.mailSource?.notify?.(),
    close() {
      closed = true;
      return inTurn(async () => watch?.close());
    },
  };

  function replace(program: MailProgram): void {
    const old = watch;
    const next = open(program);
    used = program;
    watch = next;
    void inTurn(async () => {
      await old?.close();
      next?.start();
    });
  }

  function inTurn(step: () => Promise<void>): Promise<void> {
    turn = turn.then(step).catch((error: unknown) => {
      log.error("mail watch failed", { reason: messageOf(error) });
    });
    return turn;
  }

  function open({ config, mailSource: source }: MailProgram): MailWatch | undefined {
    const settings = config.hooks.mail;
    if (!source || !settings.autoStart) return undefined;
    const hooks = (): ResolvedConfig["hooks"] => (current?.config ?? config).hooks;
    const maxBodyBytes = (): number => hooks().maxBodyBytes;
    // The host is never looked up: the request takes no socket.
    const target = () => ({ url: `http://127.0.0.1${hooks().path}/mail`, token: hooks().token });
    const post = createMailPost({ send, target });
    return createPatientWatch({ folder, source, settings, post, maxBodyBytes, log });
  }
}

/** What a plugin makes of its options is its own affair: it may be another at each load. */
function isSame(one: MailProgram, other: MailProgram): boolean {
  const isPlugged = one.config.plugged.mailSource ?? other.config.plugged.mailSource;
  return !isPlugged && isDeepStrictEqual(one.config.hooks.mail, other.config.hooks.mail);
}
