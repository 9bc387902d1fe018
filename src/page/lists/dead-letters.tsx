import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type DeadLetterView, get, post, remove } from "../api.ts";
import { notify, Time } from "../parts/controls.tsx";
import { Loading, useLoad } from "../parts/load.tsx";
import { EventLink, OlderLink, PAGE_SIZE, Table } from "../parts/table.tsx";
import { toLine } from "../parts/text.ts";
import { route } from "../router.ts";

/** Dead letters, to be retried or dropped, one by one or several at once. */
export function DeadLetters(): JSX.Element {
  const { before } = route.value.query;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const loaded = useLoad(`dead ${before}`, () => get("/api/dead-letters", { before, limit: PAGE_SIZE }));
  const treat = async (what: "retry" | "drop", items: readonly DeadLetterView[]): Promise<void> => {
    const chosen = items.filter(({ id }) => selected.has(id));
    const failed = await treatAll(what, chosen);
    setSelected(new Set(failed));
    const done = `${chosen.length - failed.length} ${what === "retry" ? "will run again" : "dropped"}`;
    notify(failed.length > 0 ? `${done}, ${failed.length} failed.` : `${done}.`, failed.length > 0 ? "bad" : "good");
    loaded.reload();
  };
  return (
    <section class="page">
      <h1>Dead letters</h1>
      <Loading from={loaded}>
        {({ deadLetters }) => (
          <>
            {deadLetters.length > 0 && (
              <p class="actions">
                <button
                  type="button"
                  class="main"
                  disabled={selected.size === 0}
                  onClick={() => void treat("retry", deadLetters)}
                >
                  Retry {selected.size || ""}
                </button>
                <button type="button" disabled={selected.size === 0} onClick={() => void treat("drop", deadLetters)}>
                  Drop {selected.size || ""}
                </button>
              </p>
            )}
            <Table
              label="Dead letters"
              items={deadLetters}
              keyOf={({ id }) => id}
              selected={selected}
              onSelect={setSelected}
              empty={<p>Nothing has failed permanently.</p>}
              columns={[
                { name: "Failed", show: ({ at }) => <Time at={at} /> },
                { name: "Kind", show: ({ kind }) => kind },
                {
                  name: "Hook",
                  show: ({ id, eventId, hook, kind }) => (
                    <EventLink id={eventId} row={id}>
                      {toLine(hook ?? kind, 60)}
                    </EventLink>
                  ),
                },
                { name: "Error", kind: "wide", show: ({ error }) => <span class="bad">{toLine(error, 240)}</span> },
                { name: "Attempts", kind: "number", show: ({ attempts }) => attempts },
              ]}
            />
            <OlderLink items={deadLetters} />
          </>
        )}
      </Loading>
    </section>
  );
}

/** A browser opens six connections to a host at most. */
const IN_PARALLEL = 4;

/** Returns the ids of those that could not be treated. */
async function treatAll(what: "retry" | "drop", items: readonly DeadLetterView[]): Promise<string[]> {
  const waiting = [...items];
  const failed: string[] = [];
  const work = async (): Promise<void> => {
    for (let item = waiting.shift(); item; item = waiting.shift()) {
      const { id } = item;
      const treating: Promise<unknown> =
        what === "retry" ? post("/api/dead-letters/:id/retry", { id }) : remove("/api/dead-letters/:id", { id });
      await treating.catch(() => failed.push(id));
    }
  };
  await Promise.all(Array.from({ length: IN_PARALLEL }, work));
  return failed;
}
