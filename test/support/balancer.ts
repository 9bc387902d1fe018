import type { Answer, Client } from "./client.ts";

export interface Balancer {
  /** Tries the next node if one does not answer, or answers 503. Rejects, or gives the 503, if no node takes the request. */
  post: Client["post"];
}

/** Sends to any of these nodes. `onRefused` is given the nodes' answers to a request that none of them took. */
export function createBalancer(nodes: () => Pick<Client, "post">[], onRefused: (reason: string) => void): Balancer {
  return {
    async post(...request) {
      const all = nodes();
      const first = Math.floor(Math.random() * all.length);
      const answers: (Answer | Error)[] = [];
      for (const node of [...all.slice(first), ...all.slice(0, first)]) {
        const answer = await node.post(...request).catch(toError);
        if (!(answer instanceof Error) && answer.status !== 503) return answer;
        answers.push(answer);
      }
      onRefused(answers.map(describe).toSorted().join(", "));
      const last = answers.at(-1);
      if (!last || last instanceof Error) throw last ?? new Error("there is no node");
      return last;
    },
  };
}

/** That of the socket, which `fetch` gives as the cause. */
function toError(error: unknown): Error {
  const { cause } = error instanceof Error ? error : {};
  return cause instanceof Error ? cause : new Error(String(error));
}

function describe(answer: Answer | Error): string {
  if (answer instanceof Error) return "code" in answer ? String(answer.code) : answer.message;
  return answer.body.code;
}
