import type { FollowOptions, ReceivedMail } from "../source.ts";
import type { OpenFolder } from "./connect.ts";

/** Reads some mails, each as soon as it is there, in no particular order. Rejects with the library's error. */
export type Reader = (
  folder: OpenFolder,
  uids: number[],
  options: FollowOptions,
) => AsyncIterable<{ uid: number; received: ReceivedMail }>;

/** How often a mail was asked for and not given. It outlives the connection, which such a mail can be the end of. */
export interface Tries {
  of(folder: OpenFolder, uid: number): number;
  add(folder: OpenFolder, uid: number): void;
  forget(folder: OpenFolder, uid: number): void;
}

export function createTries(): Tries {
  const counts = new Map<string, number>();
  const toKey = ({ name, uidValidity }: OpenFolder, uid: number): string => `${uidValidity}/${uid}/${name}`;
  const countOf: Tries["of"] = (folder, uid) => counts.get(toKey(folder, uid)) ?? 0;
  return {
    of: countOf,
    add: (folder, uid) => void counts.set(toKey(folder, uid), countOf(folder, uid) + 1),
    forget: (folder, uid) => void counts.delete(toKey(folder, uid)),
  };
}
