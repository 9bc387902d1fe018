/** Ascending uids as a command names them: `3:7,9`. */
export function toRange(uids: number[]): string {
  const runs: { first: number; last: number }[] = [];
  for (const uid of uids) {
    const run = runs.at(-1);
    if (run?.last === uid - 1) run.last = uid;
    else runs.push({ first: uid, last: uid });
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}:${last}`)).join(",");
}
