import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/**
 * A library that most starts do not need: the function loads it at its first call. For places that cannot wait; others
 * `await import(…)`.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- TypeScript cannot tell it from the name.
export function loadAtFirstUse<Library>(name: string): () => Library {
  let library: Library | undefined;
  return () => (library ??= require(name));
}
