import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { deflateSync } from "node:zlib";
import type { OfferedChange } from "../../core/ports/agent.ts";
import { createFolder } from "../../core/shared/system/files.ts";
import { toOneLine } from "../../core/shared/text/text.ts";

interface CommitParts extends Pick<OfferedChange, "parent" | "tree" | "author" | "at" | "message"> {}

/** Stores a commit. The same parts make the same one, on every node. */
export function writeCommit({ parent, tree, author, at, message }: CommitParts, folder: string): string {
  const [, name = "", mail = ""] = /^(.*?)\s*<([^<>]*)>$/s.exec(author) ?? [];
  const who = `${toName(name)} <${toName(mail)}> ${at} +0000`;
  const lines = [`tree ${tree}`, `parent ${parent}`, `author ${who}`, `committer ${who}`, "", message];
  return writeObject("commit", Buffer.from(lines.join("\n")), { folder, parent });
}

/** Within a line of a commit. */
function toName(text: string): string {
  return toOneLine(text).replaceAll(/[\0<>]/g, "");
}

/** Stores an object as git does, without a process. Returns its id, which is as long as that of the parent. */
export function writeObject(
  type: "blob" | "commit",
  content: Buffer,
  { folder, parent }: { folder: string; parent: string },
): string {
  const object = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const id = createHash(parent.length === 64 ? "sha256" : "sha1")
    .update(object)
    .digest("hex");
  const file = path.join(folder, id.slice(0, 2), id.slice(2));
  createFolder(path.dirname(file), 0o700);
  // Others may read the folder: a file is there only as a whole.
  writeFileSync(`${file}.new`, deflateSync(object));
  renameSync(`${file}.new`, file);
  return id;
}
