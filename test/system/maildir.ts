import { randomUUID } from "node:crypto";
import { chownSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";

/** A folder with one file per mail: https://cr.yp.to/proto/maildir.html */
export interface Maildir {
  /** Adds a mail atomically, as a mail server does. */
  deliver(mail: Buffer): void;
}

/** `folder` must exist, with its `tmp` and `new`. */
export function createMaildir(folder: string, owner: { uid: number; gid: number }): Maildir {
  let count = 0;
  return {
    deliver(mail) {
      count += 1;
      // Names are compared if the times are equal, so mails keep their order.
      const name = `${Math.floor(Date.now() / 1000)}.${String(count).padStart(8, "0")}-${randomUUID()}.localhost`;
      const file = path.join(folder, "tmp", name);
      writeFileSync(file, mail);
      chownSync(file, owner.uid, owner.gid);
      renameSync(file, path.join(folder, "new", name));
    },
  };
}
