/**
 * Loaded before the program: copies its folder right before and right after each commit of its journal, which is what a kill
 * there leaves. `HOOKLINE_COPY_TO` names the folder of the copies: there are none until it is there.
 */
import { cpSync, existsSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

const { HOOKLINE_COPY_FROM: from = "", HOOKLINE_COPY_TO: to = "" } = process.env;
const { prepare } = DatabaseSync.prototype;
let commits = 0;

function copy(side) {
  const name = `${String(commits).padStart(2, "0")} ${side}`;
  // The locks of a process that was killed are free.
  cpSync(from, path.join(to, name), { recursive: true, filter: (file) => !path.basename(file).startsWith("owner.") });
}

DatabaseSync.prototype.prepare = function prepareCopied(sql, ...options) {
  const statement = prepare.call(this, sql, ...options);
  if (sql !== "COMMIT" || to === "") return statement;
  const run = statement.run.bind(statement);
  statement.run = () => {
    if (!existsSync(to)) return run();
    commits += 1;
    copy("before");
    const result = run();
    copy("after");
    return result;
  };
  return statement;
};
