import type { JSX } from "preact";
import { BUILT_IN_HOOKS } from "../../../core/types.ts";
import type { MappingView, RefusalView } from "../api-client.ts";
import { Pairs, State, Time } from "../parts/controls.tsx";
import { formatBytes, formatNumber, toLine } from "../parts/format.ts";
import { useCall } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { hrefTo } from "../router.ts";

/** A request that was refused before its sender was known: nothing of its body is kept. */
export function Refused({ refusal }: { refusal: RefusalView }): JSX.Element {
  const { hook, at, reason, message, hint, client, repeated = 0, size, headers } = refusal;
  const { data } = useCall("GET /api/mappings", {}, 0);
  const pairs = {
    reason: reason.replaceAll("_", " "),
    credential: credentialOf(hook, data?.mappings ?? []),
    client,
    ...(repeated > 0 && { times: formatNumber(repeated + 1) }),
    ...(size !== undefined && { size: formatBytes(size) }),
    headers: headers.join(", "),
  };
  return (
    <section class="page">
      <Title text={`${toLine(hook ?? "no hook", 60)} refused`} />
      <p class="verdict">
        <State state="refused" /> <b>{toLine(hint ?? message, 400)}</b>
      </p>
      <p class="facts">
        <Time at={at} />
        <a href={hrefTo(["activity"], { status: "refused", hook })}>Show all of this hook</a>
      </p>
      <Pairs pairs={pairs} />
    </section>
  );
}

/** The credential that the hook asks of its senders. */
function credentialOf(hook: string | undefined, mappings: readonly MappingView[]): string {
  const own = mappings.find(({ match }) => "path" in match && match.path === hook);
  if (own?.auth !== undefined) return `signature ${own.auth}`;
  return own || BUILT_IN_HOOKS.some((name) => name === hook) ? "hook token" : "no such hook";
}
