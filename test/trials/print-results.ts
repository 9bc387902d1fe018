/** What was tried, and whether it came out as it should. */
export type Results = [what: string, good: boolean][];

/** Prints a table; the process ends with 1 where anything did not come out. */
export function printResults(subject: string, results: Results): void {
  console.log(`\n${subject}`);
  for (const [what, good] of results) console.log(`  ${good ? "yes" : "NO "}  ${what}`);
  if (results.some(([, good]) => !good)) process.exitCode = 1;
}
