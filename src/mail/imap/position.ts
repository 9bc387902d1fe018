import { isObject, parseObject } from "../../shared/json.ts";

/**
 * How far a folder is read. UIDs are enough to find new mail: the mod-sequences of CONDSTORE and QRESYNC also count changes of
 * flags.
 */
export interface Position {
  uidValidity: bigint;
  /** The last mail that was processed. */
  uid: number;
  /** When the newest mail so far was received, in milliseconds since the epoch by the server's clock. Absent: not known yet. */
  newest?: number;
  /** The mails that were in the folder when reading began. Absent once they are processed. */
  backlog?: {
    /** The uid of the last of them. */
    until: number;
    /** Earlier ones are left out. Milliseconds since the epoch. */
    since: number;
  };
}

/**
 * Starts over if the folder's uids are others, or if an earlier state of the folder was restored: with what was received since the
 * newest mail, if `since` is later because of a wrong clock.
 */
export function resumeFrom(
  position: Position | undefined,
  { uidValidity, uidNext }: { uidValidity: bigint; uidNext: number },
  since: number,
): Position {
  if (position?.uidValidity === uidValidity && position.uid < uidNext) return position;
  const from = position?.backlog?.since ?? Math.min(since, position?.newest ?? since);
  return { ...position, uidValidity, uid: 0, backlog: uidNext > 1 ? { until: uidNext - 1, since: from } : undefined };
}

/** The position after the mails up to this uid are processed. `newest`: when the newest of them was received. */
export function advance({ backlog, ...position }: Position, uid: number, newest = 0): Position {
  const isBehind = backlog !== undefined && uid < backlog.until;
  return { ...position, uid, newest: Math.max(position.newest ?? 0, newest), ...(isBehind && { backlog }) };
}

export function writePosition({ uidValidity, ...rest }: Position): string {
  return JSON.stringify({ uidValidity: String(uidValidity), ...rest });
}

export function parsePosition(text: string | undefined): Position | undefined {
  const { uidValidity, uid, newest, backlog } = parseObject(text ?? "");
  if (typeof uidValidity !== "string" || !/^\d{1,20}$/.test(uidValidity)) return undefined;
  const position = {
    uidValidity: BigInt(uidValidity),
    uid: Number(uid),
    ...(typeof newest === "number" && { newest }),
  };
  if (!isObject(backlog)) return position;
  return { ...position, backlog: { until: Number(backlog["until"]), since: Number(backlog["since"]) } };
}
