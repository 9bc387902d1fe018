/**
 * Mails in a real Dovecot: how long each takes from its delivery to the hook's event and to the start of its turn, and how
 * fast a backlog is worked off. In the same run, taking turns: imapflow by itself, which waits, fetches, and no more.
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
