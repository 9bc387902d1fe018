import { isObject, parseObject } from "../../shared/json.ts";

/**
 * How far a folder is read. UIDs are enough to find new mail: the mod-sequences of CONDSTORE and QRESYNC also count changes of
 * flags.
 */
export interface Position {
  uidValidity: bigint;
  /** The last mail that was processed. */
  uid: number;
  /** The mails that were in the folder when reading began. Absent once they are processed. */
  backlog?: {
    /** The uid of the last of them. */
    until: number;
    /** Earlier ones are left out. Milliseconds since the epoch. */
    since: number;
  };
}

/** Starts over if the folder's uids are others, or if an earlier state of the folder was restored. */
export function resumeFrom(
  position: Position | undefined,
  { uidValidity, uidNext }: { uidValidity: bigint; uidNext: number },
  since: number,
): Position {
  if (position?.uidValidity === uidValidity && position.uid < uidNext) return position;
  return { uidValidity, uid: 0, ...(uidNext > 1 && { backlog: { until: uidNext - 1, since } }) };
}

/** The position after the mails up to this uid are processed. */
export function advance({ uidValidity, backlog }: Position, uid: number): Position {
  return { uidValidity, uid, ...(backlog && uid < backlog.until && { backlog }) };
}

export function writePosition({ uidValidity, ...rest }: Position): string {
  return JSON.stringify({ uidValidity: String(uidValidity), ...rest });
}

/** Returns undefined if the text is no position. */
export function parsePosition(text: string | undefined): Position | undefined {
  const { uidValidity, uid, backlog } = parseObject(text ?? "");
  if (typeof uidValidity !== "string" || !/^\d{1,20}$/.test(uidValidity)) return undefined;
  const position = { uidValidity: BigInt(uidValidity), uid: Number(uid) };
  if (!isObject(backlog)) return position;
  return { ...position, backlog: { until: Number(backlog["until"]), since: Number(backlog["since"]) } };
}
