import { Resolver } from "node:dns/promises";
import { createServer, Packet } from "dns2";

/** The records of a name. */
export interface DnsRecords {
  srv?: { target: string; port: number; priority?: number; weight?: number }[];
  mx?: { exchange: string; priority?: number }[];
  /** The addresses of each answer in turn; the last one is repeated. */
  a?: string[][];
}

/** A name server on a free loopback port that knows only these names, and a resolver that uses it. */
export async function startDns(
  names: Record<string, DnsRecords>,
): Promise<{ resolver: Resolver; asked: ReadonlyMap<string, number>; close(): Promise<void> }> {
  const asked = new Map<string, number>();
  const server = createServer({
    udp: true,
    handle(request, send) {
      const response = Packet.createResponseFromRequest(request);
      const [question] = request.questions;
      const { srv = [], mx = [], a = [] } = names[question?.name ?? ""] ?? {};
      if (question?.type === Packet.TYPE.SRV) answer(response, srv);
      if (question?.type === Packet.TYPE.MX) answer(response, mx);
      if (question?.type === Packet.TYPE.A) {
        const count = asked.get(question.name) ?? 0;
        asked.set(question.name, count + 1);
        answer(
          response,
          (a[count] ?? a.at(-1) ?? []).map((address) => ({ address, ttl: 0 })),
        );
      }
      void send(response);
    },
  });
  const { udp } = await server.listen({ udp: { port: 0, address: "127.0.0.1" } });
  const resolver = new Resolver({ timeout: 5000, tries: 3 });
  resolver.setServers([`127.0.0.1:${udp?.port}`]);
  return { resolver, asked, close: () => server.close() };
}

function answer(response: Packet, records: object[]): void {
  const [question] = response.questions;
  if (!question) return;
  for (const record of records) {
    const defaults = { priority: 10, weight: 1, ttl: 60 };
    response.answers.push(Packet.createResourceFromQuestion(question, { ...defaults, ...record }));
  }
}

// The library's encoder compresses the target, which RFC 2782 forbids and resolvers reject.
Object.assign(Reflect.get(Packet.Resource, "SRV"), {
  encode(record: { priority: number; weight: number; port: number; target: string }, writer: Writer): void {
    for (const number of [record.priority, record.weight, record.port]) writer.write(number, 16);
    for (const label of record.target.split(".").filter(Boolean)) {
      writer.write(label.length, 8);
      for (const byte of Buffer.from(label)) writer.write(byte, 8);
    }
    writer.write(0, 8);
  },
});

interface Writer {
  write(value: number, bits: number): void;
}
