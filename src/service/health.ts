import { messageOf } from "../core/errors.ts";
import type { Alert } from "../core/dispatch/alerts.ts";
import type { Journal } from "../core/journal/journal.ts";
import type { ToolSets } from "../core/ports/open-tool-sets.ts";
import { HOUR_MS } from "../core/shared/time.ts";
import { toolSetOf } from "../core/shared/text/text.ts";
import type { Log } from "../core/telemetry/log.ts";
import { HEALTH, type HealthNote } from "../operator/inbox/health-items.ts";

/** Keeps in the journal what does not work, so that every node shows it, also after a restart. A note is written at a change. */
export interface Health {
  /** Something does not work any more. Alerts of other kinds are no notes. */
  ill(alert: Alert): void;
  /** Says that it works again. */
  well(id: string): void;
  /** A call of a tool set was sent. */
  called(fullName: string): void;
  /** Forgets what this configuration does not have, and calls that were accepted anew. */
  use(tools: ToolSets): void;
  /** Resolves once everything is written. */
  close(): Promise<void>;
}

interface HealthOptions {
  journal: Pick<Journal, "listNotes" | "writeNotes">;
  log: Log;
  tools(): ToolSets;
}

/** Another node may have written one. */
const READ_AFTER_MS = 10_000;

export function createHealth({ journal, log, tools }: HealthOptions): Health {
  /** The notes of the journal by id, as they were read last. */
  let known = new Map<string, HealthNote>();
  let readAt = -Infinity;
  let queue: Promise<void> = Promise.resolve();

  const health: Health = {
    ill({ kind, subject = "", text, ...alert }) {
      const id = toId(kind, subject);
      if (id === undefined || typeof text !== "string") return;
      const about = kind === "tool-changed" ? tools().find(subject)?.digest : alert.about;
      change(async () => {
        const at = Date.now();
        const note: HealthNote = { since: known.get(id)?.since ?? at, at, text, about };
        const isKnown = known.get(id)?.text === text && known.get(id)?.about === about;
        if (isKnown && kind !== "restarting") return;
        known.set(id, note);
        const expiresAt = kind === "restarting" ? at + HOUR_MS : undefined;
        await journal.writeNotes([{ kind: HEALTH, key: id, json: JSON.stringify(note), expiresAt }]);
      });
    },
    well(id) {
      if (known.size === 0 && performance.now() - readAt < READ_AFTER_MS) return;
      change(async () => {
        if (known.delete(id)) await journal.writeNotes([{ kind: HEALTH, key: id }]);
      });
    },
    called(fullName) {
      health.well(`tools:${toolSetOf(fullName)}`);
      health.well(`tool-changed:${fullName}`);
    },
    use(next) {
      change(async () => {
        for (const [id, { about }] of known) {
          const [kind, name = ""] = id.split(/:(.*)/s);
          const isOver =
            kind === "tools" ? !next.sets.has(name) : kind === "tool-changed" && next.find(name)?.digest !== about;
          if (isOver) health.well(id);
        }
      });
    },
    close: () => queue,
  };
  return health;

  /** One after the other. A note that cannot be written now is written at the next change. */
  function change(work: () => Promise<void>): void {
    queue = queue.then(() => attempt(work));
  }

  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      if (performance.now() - readAt > READ_AFTER_MS) {
        const notes = await journal.listNotes(HEALTH);
        known = new Map(notes.map(({ key, json }): [string, HealthNote] => [key, JSON.parse(json)]));
        readAt = performance.now();
      }
      await work();
    } catch (error) {
      readAt = -Infinity;
      log.warn("health was not noted", { error: messageOf(error) });
    }
  }
}

/** The id of the item that shows it. */
function toId(kind: Alert["kind"], subject: string): string | undefined {
  switch (kind) {
    case "tool-unreachable":
      return `tools:${subject}`;
    case "tool-changed":
      return `tool-changed:${subject}`;
    case "mailbox-down":
      return `mailbox:${subject}`;
    case "catch-up":
      return `missed:${subject}`;
    case "restarting":
      return "restarting";
    default:
      return undefined;
  }
}
