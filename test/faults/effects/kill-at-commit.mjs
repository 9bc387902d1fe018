/**
 * Loaded before the program: kills the process right before or right after a commit of its journal. The file that
 * `HOOKLINE_KILL_AT` names says which, once it is there: `3 before`.
 */
import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const file = process.env.HOOKLINE_KILL_AT ?? "";
const { prepare } = DatabaseSync.prototype;
let commits = 0;

DatabaseSync.prototype.prepare = function prepareCounted(sql, ...options) {
  const statement = prepare.call(this, sql, ...options);
  if (sql !== "COMMIT" || file === "") return statement;
  const run = statement.run.bind(statement);
  statement.run = () => {
    const [at, side] = existsSync(file) ? readFileSync(file, "utf8").split(" ") : [];
    // Missing, or not yet written.
    if (side === undefined) return run();
    commits += 1;
    const isNow = commits === Number(at);
    if (isNow && side === "before") process.kill(process.pid, "SIGKILL");
    const result = run();
    if (isNow) process.kill(process.pid, "SIGKILL");
    return result;
  };
  return statement;
};
