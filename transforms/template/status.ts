import type { Transform, TransformResult } from "hookline";

/** The part of the body that this transform reads. It comes from outside: any field may be missing. */
export interface Payload {
  service?: string;
  status?: string;
  detail?: string;
}

const transform: Transform<Payload> = ({ payload }): TransformResult => {
  const { service = "A service", status = "unknown", detail = "No detail was given." } = payload;
  if (status === "ok") return null; // Nothing to do: the request is answered with 204.

  console.log("status", status); // Shown by `npx hookline try` and with the event.
  return {
    message: `${service} reports ${status}. ${detail}`,
    sessionKey: `status:${service}`, // One conversation for each service.
  };
};
export default transform;
