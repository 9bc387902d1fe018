/** What lets a call run on later, tells one about another, or reaches past the memory limit. */
const GLOBALS = ["WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry"];

/** `RegExp.$1`, `RegExp.lastMatch` and their kin hold pieces of the last text matched: another request's, maybe. */
const REGEXP_STATICS =
  "$1 $2 $3 $4 $5 $6 $7 $8 $9 $_ $& $+ $` $' input lastMatch lastParen leftContext rightContext".split(" ");

export function removeLeaks(): void {
  for (const name of GLOBALS) Reflect.deleteProperty(globalThis, name);
  for (const name of REGEXP_STATICS) Reflect.deleteProperty(RegExp, name);
}
