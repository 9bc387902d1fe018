import type { ResolvedConfig } from "../types.ts";
import { error, type Finding } from "./finding.ts";

/** What a database cannot do, and what it needs. */
export function checkStore({ gateway, store: { postgres, retention } }: ResolvedConfig): Finding[] {
  if (!postgres) return checkRole(gateway);
  return [...checkUrl(postgres.url), ...checkSize(retention)];
}

function checkRole({ role }: ResolvedConfig["gateway"]): Finding[] {
  if (role === "all") return [];
  return [
    error("gateway.role", `must be "all" without store.url: a node of another role needs others that share its store`),
  ];
}

function checkUrl(url: string): Finding[] {
  const { hostname = "", pathname = "" } = URL.canParse(url) ? new URL(url) : {};
  if (hostname !== "" && pathname.length > 1) return [];
  return [error("store.url", "must name a host and a database, such as postgres://hookline@db.example.com/hookline")];
}

function checkSize({ maxBytes }: ResolvedConfig["store"]["retention"]): Finding[] {
  if (maxBytes === undefined) return [];
  const message =
    "cannot be kept with store.url, where space is freed by the month: set retention.maxAge, and use pg_dump to archive";
  return [error("store.retention.maxBytes", message)];
}
