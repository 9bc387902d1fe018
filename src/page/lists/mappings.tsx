import type { JSX } from "preact";
import { call, type MappingView, type StatusView } from "../api.ts";
import { confirmed } from "../parts/ask.tsx";
import { Copy, Detail, formatNumber, notifyOf, State, Text, Time, toLine, Warnings } from "../parts/controls.tsx";
import { Loading, useLoad } from "../parts/load.tsx";
import { Title } from "../parts/title.tsx";
import { Table } from "../parts/table.tsx";
import { hrefTo } from "../router.ts";

/** The mappings in the order in which they are tried, and the last reload. */
export function Mappings({ id }: { id?: string }): JSX.Element {
  const status = useLoad("status", () => call("GET /api/status"));
  const loaded = useLoad("mappings", () => call("GET /api/mappings"));
  return (
    <section class="page">
      <Title text="Mappings" />
      <Loading from={status}>{(data) => <Configuration status={data} />}</Loading>
      <Loading from={loaded}>
        {({ mappings }) => {
          const chosen = mappings.find((mapping) => mapping.id === id);
          return (
            <>
              <Table
                label="Mappings in the order in which they are tried"
                items={mappings}
                keyOf={(mapping) => mapping.id}
                detailOf={(mapping) =>
                  mapping === chosen ? <Details mapping={mapping} reload={loaded.reload} /> : undefined
                }
                empty={<Empty />}
                columns={[
                  { name: "Mapping", show: (mapping) => <MappingLink mapping={mapping} /> },
                  { name: "Sender", show: (mapping) => <Sender mapping={mapping} /> },
                  { name: "Matches", kind: "wide", show: (mapping) => <Conditions mapping={mapping} /> },
                  { name: "Action", show: ({ action }) => action },
                  { name: "Credential", show: ({ auth }) => auth ?? "hook token" },
                  { name: "Events", kind: "number", show: (mapping) => <EventCount mapping={mapping} /> },
                  { name: "Failed", kind: "number", show: ({ errorRate }) => <Rate share={errorRate} /> },
                  { name: "Refused", kind: "number", show: (mapping) => <Refused mapping={mapping} /> },
                  { name: "Last", show: ({ lastAt }) => <Time at={lastAt} /> },
                  { name: "Last failure", show: ({ lastFailureAt }) => <Time at={lastFailureAt} /> },
                ]}
              />
              <p class="quiet">Events of the last seven days. Refused requests since the start of the service.</p>
            </>
          );
        }}
      </Loading>
    </section>
  );
}

function Configuration({
  status: { config, lastReloadError, version, startedAt },
}: {
  status: StatusView;
}): JSX.Element {
  return (
    <>
      <p class="facts">
        <span>
          Generation {config.generation}, loaded <Time at={config.at} />
        </span>
        {config.file !== undefined && <code>{config.file}</code>}
        <span class="quiet">
          Hookline {version}, started <Time at={startedAt} />
        </span>
      </p>
      {lastReloadError && (
        <div class="panel" role="alert">
          <p class="problem">
            <b>The last reload failed</b> <Time at={lastReloadError.at} />. The service runs on the generation above.
          </p>
          {lastReloadError.problems.map(({ file, line, column, key = "", message, excerpt = "" }, index) => {
            const place = [file, line, column].filter((part) => part !== undefined).join(":");
            return <Detail key={index} text={`${place} ${key} ${message}\n${excerpt}`.trim()} />;
          })}
        </div>
      )}
      <Warnings texts={config.warnings} />
    </>
  );
}

/** The address that its sender has. */
function Sender({ mapping: { match, url } }: { mapping: MappingView }): JSX.Element {
  const path = "path" in match ? String(match.path) : undefined;
  if (path === undefined || url === undefined) return <span class="quiet">any</span>;
  return <span title={url}>/{toLine(path, 60)}</span>;
}

const WEEK_MS = 7 * 86_400_000;

/** The link has exactly the rows that are counted. */
function EventCount({ mapping: { id, events } }: { mapping: MappingView }): JSX.Element {
  const from = new Date(Date.now() - WEEK_MS).toISOString();
  return <a href={hrefTo([], { mapping: id, from })}>{formatNumber(sum(events))}</a>;
}

function MappingLink({ mapping: { id, preset, shadowed, pausedSince } }: { mapping: MappingView }): JSX.Element {
  return (
    <>
      <a data-row={id} href={hrefTo(["mappings", id])}>
        {toLine(id, 60)}
      </a>
      {pausedSince !== undefined && (
        <>
          {" "}
          <State state="paused" />
        </>
      )}
      {preset !== undefined && preset !== id && <span class="quiet"> {preset}</span>}
      {shadowed && (
        <>
          {" "}
          <State state="shadowed" />
        </>
      )}
    </>
  );
}

function Conditions({ mapping: { match } }: { mapping: MappingView }): JSX.Element {
  const conditions = Object.entries(match).flatMap(([name, value]) =>
    name === "headers" ? Object.entries<unknown>(value) : [[name, value] as const],
  );
  if (conditions.length === 0) return <span>everything</span>;
  return (
    <>
      {conditions.map(([name, value]) => (
        <span key={name} class="condition">
          <span class="quiet">{name}</span> {toLine(typeof value === "string" ? value : JSON.stringify(value), 200)}
        </span>
      ))}
    </>
  );
}

function Rate({ share }: { share: number }): JSX.Element {
  return <span class={share > 0 ? "bad" : "quiet"}>{`${Math.round(share * 1000) / 10} %`}</span>;
}

function Refused({ mapping }: { mapping: MappingView }): JSX.Element {
  const { rejected } = mapping;
  if (rejected.count === 0) return <span class="quiet">0</span>;
  return (
    <a
      class="warn"
      href={hrefTo(["refused"], { hook: "path" in mapping.match ? String(mapping.match.path) : undefined })}
      title={rejected.reason}
    >
      {rejected.count}
    </a>
  );
}

function Details({ mapping, reload }: { mapping: MappingView; reload(): void }): JSX.Element {
  const { id, url, file, key, auth, events, lastAt, lastFailureAt, rejected, pausedSince } = mapping;
  const counts = Object.entries(events).map(([state, count]) => `${formatNumber(count)} ${state}`);
  return (
    <div class="panel">
      <h2>
        {toLine(id, 80)} <span class="quiet">{file === undefined ? key : `${file} › ${key}`}</span>
      </h2>
      {url !== undefined && (
        <p class="facts">
          <span>URL for the sender</span> <code>{url}</code> <Copy text={url} />
        </p>
      )}
      <p class="facts">
        <span>Credential: {auth === undefined ? "the hook token" : `signature ${auth}`}</span>
        <span>{counts.length > 0 ? counts.join(", ") : "no event in the last seven days"}</span>
        <span>
          last event <Time at={lastAt} />
        </span>
        {lastFailureAt !== undefined && (
          <span class="bad">
            last failure <Time at={lastFailureAt} />
          </span>
        )}
        {rejected.count > 0 && (
          <span class="warn">
            {rejected.count} refused, the last <Time at={rejected.lastAt} />:{" "}
            <Text>{rejected.reason?.replaceAll("_", " ")}</Text>
          </span>
        )}
      </p>
      {pausedSince !== undefined && (
        <p class="warn">
          Paused since <Time at={pausedSince} />: requests are accepted and answered, and their turns wait.
        </p>
      )}
      <p class="actions">
        <button type="button" onClick={() => void pauseOrResume(mapping).then(reload)}>
          {pausedSince === undefined ? "Pause" : "Resume"}
        </button>
        <a class="button" href={hrefTo(["playground"], { mapping: id })}>
          Open in playground
        </a>
        <a class="button" href={hrefTo([], { mapping: id })}>
          Show its requests
        </a>
      </p>
    </div>
  );
}

async function pauseOrResume({ id, pausedSince }: MappingView): Promise<void> {
  if (pausedSince !== undefined) {
    await notifyOf(
      call("POST /api/mappings/:id/resume", { id }),
      () => "Its turns start in their order.",
      "Not resumed",
    );
    return;
  }
  const text =
    "Its requests are accepted and answered as before. Their turns wait until you resume it, and so do later turns of the same sessions.";
  if (!(await confirmed(`Pause ${toLine(id, 60)}?`, text, "Pause"))) return;
  await notifyOf(call("POST /api/mappings/:id/pause", { id }), () => "It is paused.", "Not paused");
}

function Empty(): JSX.Element {
  return (
    <>
      <p>
        No mapping and no preset is configured. The hooks <code>wake</code> and <code>agent</code> need none. To add a
        preset:
      </p>
      <pre>webhooks presets enable github</pre>
    </>
  );
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
