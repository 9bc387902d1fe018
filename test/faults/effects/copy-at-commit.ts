import { cpSync } from "node:fs";
import path from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";

interface Copies {
  begin(): void;
  end(): void;
}

/**
 * Each commit of a journal that is opened from now on in this process copies the folder, right before and right after, which is
 * what a kill there leaves.
 */
export function copyAtCommits(from: string, to: string): Copies {
  const { prototype } = DatabaseSync;
  const { prepare } = prototype;
  let commits = 0;
  let isCopying = false;

  function copy(side: string): void {
    const name = `${String(commits).padStart(2, "0")} ${side}`;
    // The locks of a process that was killed are free.
    cpSync(from, path.join(to, name), { recursive: true, filter: (file) => !path.basename(file).startsWith("owner.") });
  }

  prototype.prepare = function prepareCopied(sql, ...options): StatementSync {
    const statement = prepare.call(this, sql, ...options);
    if (sql !== "COMMIT") return statement;
    const run = statement.run.bind(statement);
    statement.run = () => {
      if (!isCopying) return run();
      commits += 1;
      copy("before");
      const result = run();
      copy("after");
      return result;
    };
    return statement;
  };
  return {
    begin: () => void (isCopying = true),
    end() {
      isCopying = false;
      prototype.prepare = prepare;
    },
  };
}
