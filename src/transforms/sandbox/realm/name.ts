/** The global under which the realm stands until it is sealed: no code of a transform has run by then. */
export const REALM_GLOBAL = "__hooklineRealm";
