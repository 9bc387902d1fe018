/** What `webhooks mail setup` uses of mail. */
export { createConsent } from "../gmail/consent.ts";
export { listFolders } from "../imap/imap.ts";
export { findServer } from "./discover.ts";
export {
  hideSecrets,
  isDone,
  isReference,
  loadMailbox,
  loginSignal,
  partOf,
  planSetup,
  readTarget,
  type SetupPlan,
  type Target,
  toFileReference,
  toVariableReference,
  writeSetup,
} from "./plan.ts";
export { findHint, findObstacle, findProvider, type FoundServer, parseMailAddress } from "./providers.ts";
