import { toSentence } from "../errors.ts";
import type { JournalStats } from "../journal/port.ts";
import type { FolderStatus, MailStatus } from "../mail/watch/states.ts";
import type { Program } from "../program/build.ts";
import type { ReloadFailure } from "../program/reload.ts";
import type { SandboxStatus } from "../transforms/port.ts";

export interface StatusParts {
  version: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  program: Program;
  reloadFailure: ReloadFailure | undefined;
  sandbox: SandboxStatus;
  journal: JournalStats;
  running: object;
  /** undefined: no mailbox is configured. */
  mail: MailStatus | undefined;
}

/** What `GET /api/status` shows. */
export function toStatus(parts: StatusParts): object {
  const { program, reloadFailure } = parts;
  return {
    version: parts.version,
    startedAt: new Date(parts.startedAt).toISOString(),
    config: {
      generation: program.generation,
      at: new Date(program.builtAt).toISOString(),
      file: program.config.file,
      mappings: program.config.hooks.mappings.map(({ id }) => id),
      warnings: program.warnings.map(toSentence),
    },
    lastReloadError: reloadFailure ? toFailureView(reloadFailure) : null,
    sandbox: parts.sandbox,
    queue: { ...parts.journal, ...parts.running },
    mail: parts.mail ? toMailView(parts.mail) : null,
  };
}

/** The first problem in full, and all of them. */
function toFailureView({ at, problems }: ReloadFailure): object {
  return { at: new Date(at).toISOString(), ...problems[0], problems };
}

function toMailView({ folders, ...mail }: MailStatus): object {
  return { ...mail, folders: folders.map(toFolderView) };
}

function toFolderView({ since, lastMailAt, nextTryAt, ...folder }: FolderStatus): object {
  return {
    ...folder,
    since: new Date(since).toISOString(),
    lastMailAt: toMoment(lastMailAt),
    nextTryAt: toMoment(nextTryAt),
  };
}

function toMoment(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}
