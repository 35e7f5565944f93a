/** A client of ace_graph's web backend: typed calls, and the events of an answer. */

import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./api.js";

export type Ace = Client<paths>;
export type Schemas = components["schemas"];
type Events = Schemas["ChatEvents"];
/** One event of an answer: its name says what its data holds. */
export type ChatEvent = {
  [Name in keyof Events]: { id: string; event: Name; data: Events[Name] };
}[keyof Events];

const RESUMES = 3;
const PAUSE_MS = 1_000;

/** An error that the server answered: a sentence for people, a code for programs. */
export class AceError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    sentence: string,
    readonly requestId?: string | null,
  ) {
    super(sentence);
    this.name = "AceError";
  }
}

/** Return the calls of a server, as the learner of a token; a server in development asks for none. */
export function connect(baseUrl: string, token?: string): Ace {
  return createClient<paths>({ baseUrl, headers: token ? { Authorization: `Bearer ${token}` } : {} });
}

/** Return what a call answered. Throws AceError for an error of the server. */
export async function answered<Data>(
  call: Promise<{ data?: Data; error?: Schemas["ErrorReply"]; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call;
  if (response.ok) return data as Data; // undefined is the type of an answer without a body
  // What stands between, such as a proxy, answers in its own form.
  const { code = "unknown", error: sentence = response.statusText, requestId } = Object(error) as
    Partial<Schemas["ErrorReply"]>;
  throw new AceError(response.status, code, sentence, requestId);
}

/** Send a message and yield the events of its answer, until `done`.
 *
 * A connection that breaks is resumed behind the last event: the turn goes on without it. Throws AceError
 * where there is no answer.
 */
export async function* chat(
  ace: Ace,
  body: Schemas["ChatRequest"],
  signal: AbortSignal | null = null,
): AsyncGenerator<ChatEvent> {
  let stream = await answered(ace.POST("/api/ai/chat/stream", { body, parseAs: "stream", signal }));
  let [streamId, lastId] = ["", ""];
  for (let resumes = 0; ; resumes++) {
    try {
      for await (const event of chatEvents(stream)) {
        signal?.throwIfAborted(); // what has come already is not told after the end
        lastId = event.id;
        if (event.event === "start") streamId = event.data.streamId;
        if (event.event === "error") throw new AceError(event.data.status, event.data.code, event.data.error);
        yield event;
        if (event.event === "done") return;
      }
    } catch (error) {
      if (error instanceof AceError || signal?.aborted) throw error;
    }
    if (!streamId || resumes === RESUMES) throw new Error("the connection broke before the answer was whole");
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const params = { path: { stream_id: streamId }, header: { "last-event-id": lastId } };
    stream = await answered(
      ace.GET("/api/ai/chat/stream/{stream_id}", { params, parseAs: "stream", signal }),
    );
  }
}

/** Yield the events in the body of a response that streams an answer. */
export async function* chatEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): AsyncGenerator<ChatEvent> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { id: value.id, event: value.event, data: JSON.parse(value.data) } as ChatEvent;
    }
  } finally {
    await reader.cancel();
  }
}
