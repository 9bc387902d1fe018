import { diffValues } from "../../service/authoring/edit-config.ts";
import { type ConfigPlan, findUses, planBasics, planChanges } from "../../service/authoring/plan.ts";
import type { Target } from "../../service/authoring/target.ts";
import { toBuiltIn } from "../../core/config/presets/file.ts";
import { ConfigError } from "../../core/errors.ts";
import { isObject, readPath, type Segment, toKeyPath, toObject, withoutUndefined } from "../../core/shared/json.ts";
import type { MailSourceOptions } from "../../mail/sources.ts";
import { readPlan } from "../setup/change.ts";

/** An entry of `hooks.mail`. */
export interface WrittenMailbox {
  /** Where it is or will be: `["hooks", "mail"]`, in a list with its index. */
  at: readonly Segment[];
  /** The written settings; empty if it is new. */
  written: Record<string, unknown>;
}

/** The mailbox that the configuration must contain. */
export interface WantedMail {
  mailbox: WrittenMailbox;
  /** The name of a mailbox that is added to others. */
  name?: string;
  /** Its `source`, with references instead of secrets; undefined keys are left out. */
  source: Record<string, unknown>;
  /** Its other keys; undefined: unchanged. */
  settings: Record<string, string | undefined>;
  /** Files with secrets, by absolute path, to be written first. */
  secretFiles: ReadonlyMap<string, string>;
}

export function findMailboxes({ written }: Target): WrittenMailbox[] {
  const mail = toObject(written["hooks"])["mail"];
  const entries = Array.isArray(mail)
    ? mail.map((entry, index) => ({ at: [...MAIL, index], written: toObject(entry) }))
    : [{ at: MAIL, written: toObject(mail) }];
  return entries.filter((entry) => isObject(entry.written["source"]));
}

export function addMailbox(target: Target): WrittenMailbox {
  const { mail } = toObject(target.written["hooks"]);
  if (Array.isArray(mail)) return { at: [...MAIL, mail.length], written: {} };
  if (findMailboxes(target).length > 0) return { at: [...MAIL, 1], written: {} };
  return { at: MAIL, written: toObject(mail) };
}

const MAIL: readonly Segment[] = ["hooks", "mail"];

/**
 * Plans what is needed to watch a mailbox: its entry of `hooks.mail`, the preset, and, unless they are set, `hooks.enabled` and a hook token.
 * A new configuration also gets a gateway token. Writes nothing.
 */
export function planSetup(target: Target, { mailbox, name, source, settings, secretFiles }: WantedMail): ConfigPlan {
  const { at, written } = mailbox;
  const files = new Map(secretFiles);
  const changes = planBasics(target, files);
  if (findUses(target, toBuiltIn("mail")).length === 0)
    changes.push({ kind: "add", path: ["hooks", "presets"], value: "mail" });
  const wanted = { ...written, ...withoutUndefined({ name, source: withoutUndefined(source), ...settings }) };
  if (readPath(target.written, at.map(String)) !== undefined || at === MAIL) {
    changes.push(...diffValues(written, wanted, at));
  } else {
    changes.push({ kind: "add", path: MAIL, value: wanted });
  }
  return planChanges(target, changes, { secretFiles: files });
}

const LOGIN_MS = 60_000;

export function loginSignal(): AbortSignal {
  return AbortSignal.timeout(LOGIN_MS);
}

/** The mailbox with its secrets. Throws a `ConfigError` if the configuration would not be valid. */
export async function loadMailbox(target: Target, wanted: Omit<WantedMail, "settings">): Promise<MailSourceOptions> {
  const { config, problems } = await readPlan(planSetup(target, { ...wanted, settings: {} }), target.env);
  const ofMail = problems.filter(({ key }) => key?.startsWith("hooks.mail"));
  const source = config.hooks.mail.find(({ key }) => key === toKeyPath(wanted.mailbox.at))?.source;
  if (ofMail.length === 0 && source) return source;
  throw new ConfigError(ofMail.length > 0 ? ofMail : problems);
}
