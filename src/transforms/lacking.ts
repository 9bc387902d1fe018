/** Globals of Node and the web that a transform does not have. */
const MISSING_GLOBALS =
  /(?<![\w$.])(fetch|XMLHttpRequest|WebSocket|process|Buffer|require|setTimeout|setInterval|setImmediate|performance|__dirname|__filename)(?=\s*[.([])/g;

/** What OpenClaw gives to a transform, or takes from it, and its replacement here. */
const OPENCLAW: [RegExp, string][] = [
  [/\bctx\.url\b|\(\s*\{[^{}()]*\burl\b[^{}()]*\}/, "url of the input: use path and query"],
  [/\bagentId\s*[:,}]/, "agentId of the result: set model"],
  [/\bsessionKeySource\s*[:,}]/, 'sessionKeySource of the result: set sessionKeys: "trusted" on the mapping'],
  [/\bsessionMode\s*[:,}]/, "sessionMode of the result: a session keeps its history"],
];

/** What code that was written for OpenClaw uses and the sandbox lacks, in a few words each. May name more than there is. */
export function findLacking(code: string): string[] {
  const globals = Array.from(code.matchAll(MISSING_GLOBALS), ([name]) => name);
  return [...new Set(globals), ...OPENCLAW.filter(([use]) => use.test(code)).map(([, what]) => what)];
}
