import { isDeepStrictEqual } from "node:util";
import { trimSlashes } from "../config/resolve.ts";
import type { Auth } from "../config/schema/generated.ts";
import type { MappingSource } from "../config/types.ts";
import type { ConfigProblem } from "../errors.ts";
import type { Sender } from "../ingress/doors.ts";

/** The mappings of one hook that have the same `auth`. They share a verifier and a credential, so each of them can match. */
interface SenderGroup extends Pick<Sender, "hook" | "credential"> {
  auth: Auth;
  mappings: MappingSource[];
  /** Where the `auth` is written. */
  key: string;
  file: string | undefined;
}

export interface OpenSender extends Sender, SenderGroup {}

export function groupSenders(mappings: MappingSource[]): SenderGroup[] {
  const groups: SenderGroup[] = [];
  for (const source of mappings) {
    const { auth, match } = source.mapping;
    if (!auth || match?.path === undefined) continue;
    const hook = trimSlashes(match.path);
    const ofHook = groups.filter((group) => group.hook === hook);
    const same = ofHook.find((group) => isDeepStrictEqual(group.auth, auth));
    if (same) {
      same.mappings.push(source);
      continue;
    }
    const credential = nameCredential(source, hook, groups);
    groups.push({ hook, auth, credential, mappings: [source], key: `${source.key}.auth`, file: source.file });
  }
  return groups;
}

/** By the preset, by its path where it is used twice, or by the mapping: the name stays when the secret is rotated. */
function nameCredential({ preset = "", id }: MappingSource, hook: string, others: SenderGroup[]): string {
  const names = preset === "" ? [id] : [preset, hook, id];
  const free = names.find((name) => others.every(({ credential }) => credential !== `auth:${name}`));
  return `auth:${free ?? id}`;
}

/** What the doors need of an `auth`, whatever its scheme is. */
export function readAuth({ secret = [], url }: Auth): Pick<Sender, "secrets" | "url"> {
  // A secret from a file or a shell tends to end in a line break. Node reads header bytes as Latin-1.
  const secrets = [secret].flat().map((text) => Buffer.from(String(text).trim()).toString("latin1"));
  return { secrets, url: typeof url === "string" ? url : undefined };
}

/** A sender that has stopped waiting delivers again, or counts the delivery as failed. */
export function findSlowTransforms({ auth, verifier, mappings }: OpenSender): ConfigProblem[] {
  const { senderTimeoutMs = Infinity } = verifier;
  return mappings
    .filter(({ mapping: { transform } }) => (transform?.timeoutMs ?? 0) > senderTimeoutMs)
    .map(({ file, key }) => ({
      file,
      key: `${key}.transform.timeoutMs`,
      message: `is longer than the ${senderTimeoutMs} ms that ${auth.scheme} waits for an answer`,
    }));
}
