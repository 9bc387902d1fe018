/**
 * Mails in a real Dovecot: the time from delivery to the hook's event and to the start of the turn, and the speed of
 * processing a backlog. In the same run, alternating: bare imapflow, which only waits and fetches.
 */
import { measureBacklog } from "./mail/measure-backlog.ts";
import { measureLatency } from "./mail/measure-latency.ts";

const PAIRS = Number(process.env.BENCH_PAIRS ?? 100);
const BACKLOG = 2000;
const ROUNDS = 3;

console.table(await measureLatency({ pairs: PAIRS }));
console.log(`${PAIRS} mails to each, one at a time.`);
console.table(await measureBacklog({ mails: BACKLOG, rounds: ROUNDS }));
console.log(`Medians of ${ROUNDS} rounds of ${BACKLOG} mails of all kinds.`);
