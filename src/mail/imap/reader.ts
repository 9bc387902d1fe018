import type { FollowOptions, ReceivedMail } from "../port.ts";
import type { OpenFolder } from "./open-folder.ts";

/** Reads some mails, each as soon as it is there, in no particular order. Rejects with the library's error. */
export type Reader = (
  folder: OpenFolder,
  uids: number[],
  options: FollowOptions,
) => AsyncIterable<{ uid: number; received: ReceivedMail }>;
