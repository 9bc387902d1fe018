#!/usr/bin/env node
/**
 * The command as it is installed. It imports nothing before it knows its Node: an older one ends at the first built-in or
 * syntax that it lacks, and says nothing of why. `engines` of package.json says the same to npm, which only warns.
 */
const OLDEST = 24;

if (Number.parseInt(process.versions.node, 10) >= OLDEST) await import("./main.ts");
else {
  console.error(
    `Hookline needs Node.js ${OLDEST} or newer; this is v${process.versions.node}. Try \`npm i node@${OLDEST}\`.`,
  );
  process.exitCode = 1;
}
