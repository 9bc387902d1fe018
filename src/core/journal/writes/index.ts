import type { JournalWrites } from "../journal.ts";
import type { PublicationWrites } from "../publications.ts";
import { hasExpired } from "../reads/approvals.ts";
import type { Read } from "../reads/index.ts";
import {
  decideApproval,
  drawButtons,
  expireApprovals,
  keepAsked,
  reserveCodes,
  settleCall,
} from "./approval-states.ts";
import { dropDeadLetter, retryDeadLetter } from "./dead-letter-states.ts";
import { giveBackDelivery, keepChange, keepMessage, progressDelivery, retryDelivery } from "./delivery-states.ts";
import * as publications from "./publishing.ts";
import {
  cancelRun,
  completeHeartbeat,
  failHeartbeat,
  giveBackRun,
  holdRun,
  recordSteps,
  releaseHeld,
  releaseRun,
  retryRun,
  tryAgain,
} from "./run-states.ts";
import { addTallies, pauseMapping, recordAnswer, resumeMapping, writeNotes } from "./notes.ts";
import type { Work, Writer } from "./writer.ts";

/** Makes a method of the journal from a write. */
export type Write = <Args extends unknown[], Result>(
  operation: (writer: Writer, ...args: Args) => Work<Result>,
) => (...args: Args) => Promise<Result>;

export function createWrites(write: Write, read: Read): JournalWrites {
  return {
    writeNotes: write(writeNotes),
    addTallies: write(addTallies),
    recordAnswer: write(recordAnswer),

    recordSteps: write(recordSteps),
    settleCall: write(settleCall),
    keepChange: write(keepChange),
    keepMessage: write(keepMessage),
    retryRun: write(retryRun),
    giveBackRun: write(giveBackRun),
    releaseRun: write(releaseRun),
    holdRun: write(holdRun),
    releaseHeld: write(releaseHeld),
    tryAgain: write(tryAgain),
    cancelRun: write(cancelRun),
    pauseMapping: write(pauseMapping),
    resumeMapping: write(resumeMapping),

    reserveCodes: write(reserveCodes),
    drawButtons: write(drawButtons),
    keepAsked: write(keepAsked),
    decideApproval: write(decideApproval),
    async expireApprovals(now) {
      return (await read(hasExpired)(now)) ? write(expireApprovals)(now) : 0;
    },
    completeHeartbeat: write(completeHeartbeat),
    failHeartbeat: write(failHeartbeat),

    progressDelivery: write(progressDelivery),
    retryDelivery: write(retryDelivery),
    giveBackDelivery: write(giveBackDelivery),

    retryDeadLetter: write(retryDeadLetter),
    dropDeadLetter: write(dropDeadLetter),
  };
}

export function createPublicationWrites(write: Write): PublicationWrites {
  return {
    number: write(publications.numberPublications),
    subscribe: write(publications.subscribe),
    unsubscribe: write(publications.unsubscribe),
    end: write(publications.endSubscription),
    saveProgress: write(publications.saveProgress),
  };
}
