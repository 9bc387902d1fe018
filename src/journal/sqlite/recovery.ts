import type { Log } from "../../telemetry/log.ts";
import { insertInterrupted } from "./failed-attempts.ts";
import { isDiskFull, transact } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

export interface Recovery {
  /** At the start. With a full disk the service starts all the same, and can answer reads. */
  begin(): void;
  /** Before a claim: it resolves once the work is recovered. */
  finish(): Promise<void>;
}

/** Returns to the queue what an earlier process had claimed. The lock proves that it is dead. */
export function createRecovery(transaction: Transaction, log: Log): Recovery {
  let isDone = false;
  let repeated: Promise<void> | undefined;

  return {
    begin() {
      try {
        report(transact(transaction, () => returnWork(transaction)));
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        log.warn("interrupted work not recovered yet: the disk is full");
      }
    },
    async finish() {
      if (isDone) return;
      repeated ??= transaction
        .write(() => returnWork(transaction))
        .then(report)
        .finally(() => (repeated = undefined));
      await repeated;
    },
  };

  function report(recovered: { runs: number; deliveries: number }): void {
    isDone = true;
    if (recovered.runs + recovered.deliveries > 0) log.info("recovered interrupted work", recovered);
  }
}

/** Attempts are kept: one of them may have crashed the process. */
function returnWork(transaction: Transaction): { runs: number; deliveries: number } {
  const { run, announce } = transaction;
  insertInterrupted(transaction, "runs", "running");
  insertInterrupted(transaction, "deliveries", "sending");
  const runs = run("UPDATE runs INDEXED BY runs_state SET state = 'ready' WHERE state = 'running'");
  const deliveries = run("UPDATE deliveries INDEXED BY deliveries_state SET state = 'pending' WHERE state = 'sending'");
  if (runs > 0) announce("run");
  if (deliveries > 0) announce("delivery");
  return { runs, deliveries };
}
