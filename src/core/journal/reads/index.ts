import type { JournalReads } from "../journal.ts";
import type { PublicationReads } from "../publications.ts";
import { findAsked, findPressed, getApproval, getAsked, listApprovals } from "./approvals.ts";
import { listDeadLetters } from "./dead-letters.ts";
import {
  findChange,
  findEffects,
  findSent,
  findThread,
  hasSpoken,
  lastRoute,
  listAnswers,
  listDeliveries,
  listThreads,
  operatorRoute,
  wasSent,
} from "./deliveries.ts";
import { findAnswer, getEvent, listEvents, listFailedRequests } from "./events.ts";
import { countRestarts, readSurvival } from "./survival.ts";
import * as publications from "./published.ts";
import type { Reader } from "./reader.ts";
import {
  countSenders,
  countWork,
  findLost,
  getRun,
  isClaimed,
  listPauses,
  listRuns,
  listSteps,
  readSpend,
} from "./runs.ts";
import { getSession, history, listPendingSystemEvents, listSessions, sessionStart } from "./sessions.ts";
import { listNotes, readState } from "./mapping-state.ts";
import { countSince, listTallies } from "./tallies.ts";

/** Makes a method of the journal from a read. */
export type Read = <Args extends unknown[], Result>(
  operation: (reader: Reader, ...args: Args) => Promise<Result>,
) => (...args: Args) => Promise<Result>;

export function createReads(read: Read): JournalReads {
  return {
    readState: read(readState),
    listNotes: read(listNotes),
    listTallies: read(listTallies),
    countSince: read(countSince),
    findAnswer: read(findAnswer),

    isClaimed: read(isClaimed),
    listSteps: read(listSteps),
    findLost: read(findLost),
    listPauses: read(listPauses),
    readSurvival: read(readSurvival),
    countRestarts: read(countRestarts),
    spend: read(readSpend),

    listApprovals: read(listApprovals),
    getApproval: read(getApproval),
    findAsked: read(findAsked),
    getAsked: read(getAsked),
    findPressed: read(findPressed),

    pendingSystemEvents: read(listPendingSystemEvents),
    wasSent: read(wasSent),
    hasSpoken: read(hasSpoken),
    findSent: read(findSent),
    findThread: read(findThread),
    listThreads: read(listThreads),
    findChange: read(findChange),
    listAnswers: read(listAnswers),
    lastRoute: read(lastRoute),
    operatorRoute: read(operatorRoute),

    history: read(history),
    sessionStart: read(sessionStart),
    listEvents: read(listEvents),
    listFailedRequests: read(listFailedRequests),
    findEffects: read(findEffects),
    countWork: read(countWork),
    getEvent: read(getEvent),
    listSessions: read(listSessions),
    getSession: read(getSession),
    listRuns: read(listRuns),
    getRun: read(getRun),
    countSenders: read(countSenders),
    listDeliveries: read(listDeliveries),
    listDeadLetters: read(listDeadLetters),
  };
}

export function createPublicationReads(read: Read): PublicationReads {
  return {
    state: read(publications.readState),
    read: read(publications.readPublications),
    idAt: read(publications.readIdAt),
    listAbandoned: read(publications.listAbandoned),
    firstSince: read(publications.readFirstSince),
    listUnnumbered: read(publications.listUnnumbered),
    listTypes: read(publications.listTypes),
    listSubscriptions: read(publications.listSubscriptions),
    hasCallback: read(publications.hasCallback),
  };
}
