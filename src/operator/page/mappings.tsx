import type { JSX } from "preact";

export function Mappings({ id }: { id?: string }): JSX.Element {
  return (
    <section class="page">
      <h1>Mappings {id}</h1>
    </section>
  );
}
