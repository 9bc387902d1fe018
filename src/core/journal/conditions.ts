/* Conditions of partial indexes: PostgreSQL and SQLite use an index only if a statement has its condition. */

/** After this many interruptions in a row, a run or delivery is a suspect: it may be what ends the process. */
export const SUSPECT_AFTER = 3;

/* Work that can be claimed, as the indexes have it. A suspect is only claimed alone. */
export const READY = `state = 'ready' AND interruptions < ${SUSPECT_AFTER}`;
export const PENDING = `state = 'pending' AND interruptions < ${SUSPECT_AFTER}`;
export const SUSPECT_RUN = `state = 'ready' AND interruptions >= ${SUSPECT_AFTER}`;
export const SUSPECT_DELIVERY = `state = 'pending' AND interruptions >= ${SUSPECT_AFTER}`;

/** Failed requests that nobody has treated. */
export const FAILED_REQUEST = "dead > 0 AND failure_group IS NOT NULL";
