type Nothing = false | "" | null | undefined;

/** Findings of some checks, in their order. A check gives one finding, several, or nothing. */
export function listFound<Found extends object>(...checks: (Found | readonly Found[] | Nothing)[]): Found[] {
  return checks.flatMap<Found>((found) => found || []);
}
