import type { JSX } from "preact";
import { call, type MappingsView } from "../api-client.ts";
import { toLine } from "../parts/format.ts";
import { Loading, Page, useCall, useLoad } from "../parts/load.tsx";
import { goTo, route } from "../router.ts";
import { createSource, hookOf, type StartEvent } from "./fields.ts";
import { Workbench } from "./workbench.tsx";

/** Edits a mapping on a payload, and shows what it makes of it as one types. Nothing is recorded. */
export function Playground({ mapping }: { mapping: string }): JSX.Element {
  return (
    <Page title={mapping === "" ? "New mapping" : "Playground"} from={useCall("GET /api/mappings", {}, 0)}>
      {(loaded) => (
        <>
          <p class="facts">
            <label>
              Mapping
              <select
                value={mapping}
                onChange={({ currentTarget: { value } }) =>
                  goTo(value === "" ? ["mappings", "new"] : ["mappings", value, "edit"])
                }
              >
                <option value="">new mapping</option>
                {loaded.mappings.map(({ id }) => (
                  <option key={id} value={id}>
                    {toLine(id, 80)}
                  </option>
                ))}
              </select>
            </label>
            <span class="quiet">
              It runs in the service’s own sandbox, and nothing is recorded. Types are your editor’s: the page checks
              none.
            </span>
          </p>
          <LoadedWorkbench key={mapping} id={mapping} loaded={loaded} />
        </>
      )}
    </Page>
  );
}

/** Loads what the work starts from: the mapping's source, and the event. */
function LoadedWorkbench({ id, loaded }: { id: string; loaded: MappingsView }): JSX.Element {
  const { event = "", recording = "", request = "" } = route.value.query;
  const taken = loaded.mappings.map((mapping) => mapping.id);
  const start = useLoad(
    `source ${id} ${event}${request}`,
    async () => {
      const given =
        event === "" ? await findRecorded(recording, request) : await call("GET /api/events/:id", { id: event });
      const source = id === "" ? createSource(given?.hook, taken) : await call("GET /api/mappings/:id/source", { id });
      const { events } = await call("GET /api/events", { hook: given?.hook ?? hookOf(source), limit: 20 });
      // Without a sample, the newest event of the mapping is what one most likely has in mind.
      const [latest] = id === "" || source.samples.length > 0 ? [] : events;
      const first = given ?? (latest && (await call("GET /api/events/:id", { id: latest.id })));
      return { source, event: first, events };
    },
    0,
  );
  return (
    <Loading from={start}>
      {(data) => <Workbench name={`${id} ${event}${request}`} {...data} saves={loaded.saves} reload={start.reload} />}
    </Loading>
  );
}

/** A request to a hook that no mapping takes. */
async function findRecorded(recording: string, request: string): Promise<StartEvent | undefined> {
  if (recording === "") return undefined;
  const { hook, requests } = await call("GET /api/recordings/:id", { id: recording });
  const found = requests.find(({ id }) => id === request);
  return found && { hook, request: found.request };
}
