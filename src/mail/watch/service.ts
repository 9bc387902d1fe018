import { isDeepStrictEqual } from "node:util";
import type { ResolvedConfig } from "../../config/types.ts";
import { messageOf } from "../../errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { MailSource } from "../source.ts";
import { openMailStore } from "../store/sqlite.ts";
import type { MailStore } from "../store/store.ts";
import { createPauses } from "./backoff.ts";
import { createMailPost } from "./post.ts";
import { createLaneStatus, type MailState, type MailStatus, needsOperator, toMailStatus } from "./status.ts";
import { createMailWatch, type MailWatch, type MailWatchOptions } from "./watch.ts";

export interface KeeperOptions {
  /** The state folder. */
  folder: string;
  /** The service's own door: a mail takes the way of every hook. */
  send(request: Request): Promise<Response>;
  telemetry: Telemetry;
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
export function createMailKeeper({ folder, send, telemetry }: KeeperOptions): MailKeeper {
  const { log } = telemetry;
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

interface PatientWatchOptions extends Omit<MailWatchOptions, "store"> {
  /** The state folder. */
  folder: string;
}

/** How often it is tried to take a mailbox that another process has, or a file that cannot be used. */
const RETRY_MS = 3000;

/** A watch that begins as soon as it can have the mailbox for itself, and waits until then. */
function createPatientWatch({ folder, ...options }: PatientWatchOptions): MailWatch {
  const { source, log, onChange: changed = () => {} } = options;
  const stopping = new AbortController();
  const pauses = createPauses(stopping.signal);
  const waiting = source.folders.map((name) => createLaneStatus({ folder: name, log, changed }));
  let watch: MailWatch | undefined;
  let opening: Promise<void> = Promise.resolve();

  return {
    start() {
      opening = startWhenFree();
    },
    status() {
      const folders = waiting.map((status) => status.read());
      return watch?.status() ?? toMailStatus(source, folders);
    },
    nudge() {
      pauses.nudge();
      watch?.nudge();
    },
    async close() {
      stopping.abort();
      await opening;
      await watch?.close();
    },
  };

  async function startWhenFree(): Promise<void> {
    while (!stopping.signal.aborted) {
      const store = tryToOpen();
      if (store) {
        watch = createMailWatch({ ...options, store });
        watch.start();
        return;
      }
      await pauses.wait(RETRY_MS);
    }
  }

  function tryToOpen(): MailStore | undefined {
    try {
      const store = openMailStore({ folder, mailbox: source.mailbox });
      if (!store) enter("watched-elsewhere", "another process watches this mailbox");
      return store;
    } catch (error) {
      enter("store-failed", messageOf(error));
      return undefined;
    }
  }

  function enter(state: MailState, error: string): void {
    for (const status of waiting) status.enter(state, { error, waitMs: RETRY_MS });
  }
}
