import { INTERRUPTED } from "../../core/journal/records/failed-attempt.ts";
import { insertAttempts } from "../../core/journal/writes/failed-attempts.ts";
import { toInterrupted } from "../../core/journal/writes/suspect-states.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { isDiskFull, transact } from "./database.ts";
import type { Transaction } from "./group-commit.ts";
import type { Node } from "./node.ts";
import { runTranslated } from "./read.ts";
import { createWriter } from "./writer.ts";

export interface Recovery {
  /** At the start. With a full disk the service starts all the same, and can answer reads. */
  begin(): void;
  /** Before a claim: it resolves once the work is recovered. */
  finish(): Promise<void>;
}

/** Returns to the queue what an earlier process had claimed. The lock proves that it is dead. */
export function createRecovery(transaction: Transaction, node: Node, log: Log): Recovery {
  let isDone = false;
  let repeated: Promise<void> | undefined;

  return {
    begin() {
      try {
        end(transact(transaction, () => returnWork(transaction, node)));
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        log.warn("interrupted work not recovered yet: the disk is full");
      }
    },
    async finish() {
      if (isDone) return;
      repeated ??= transaction
        .write(() => returnWork(transaction, node))
        .then(end)
        .finally(() => (repeated = undefined));
      await repeated;
    },
  };

  function end(recovered: { runs: number; deliveries: number }): void {
    isDone = true;
    if (recovered.runs + recovered.deliveries > 0) log.info("recovered interrupted work", recovered);
  }
}

/** Attempts are kept: one of them may have ended the process. They are kept as failed ones too: these are few. */
function returnWork(transaction: Transaction, node: Node): { runs: number; deliveries: number } {
  const { run, announce } = transaction;
  for (const work of [
    "runs AS work INDEXED BY runs_state WHERE state = 'running'",
    "deliveries AS work INDEXED BY deliveries_state WHERE state = 'sending'",
  ]) {
    runTranslated(transaction, insertAttempts(work, "NULL", "$1"), [INTERRUPTED]);
  }
  const runs = run(RETURN_RUNS, Date.now());
  const deliveries = run(RETURN_DELIVERIES, Date.now());
  node.begin(createWriter(transaction));
  if (runs > 0) announce("run");
  if (deliveries > 0) announce("delivery");
  return { runs, deliveries };
}

const RETURN_RUNS = `
  UPDATE runs INDEXED BY runs_state SET state = 'ready', ${toInterrupted("?1")} WHERE state = 'running'`;
const RETURN_DELIVERIES = `
  UPDATE deliveries INDEXED BY deliveries_state SET state = 'pending', ${toInterrupted("?1")} WHERE state = 'sending'`;

/** At the end of this process: nothing that it has claimed was interrupted. */
export function giveBack(transaction: Transaction, node: Node): void {
  transaction.run("UPDATE runs INDEXED BY runs_state SET state = 'ready' WHERE state = 'running'");
  transaction.run("UPDATE deliveries INDEXED BY deliveries_state SET state = 'pending' WHERE state = 'sending'");
  node.leave(createWriter(transaction));
}
