/** What the examples do not show: a connection that breaks, a signal, and what the types refuse. */

import assert from "node:assert/strict";

import { AceError, answered, chat, connect, type ChatEvent } from "ace-graph-client";

const url = process.env["BACKEND_URL"] ?? "http://127.0.0.1:8000";

/** Return a client whose first streams end after their first piece, and the addresses that it asks for. */
function breaking(streams: number): { ace: ReturnType<typeof connect>; asked: string[] } {
  const ace = connect(url, process.env["ADA"]);
  const asked: string[] = [];
  ace.use({
    onRequest: ({ schemaPath, request }) => {
      asked.push(`${schemaPath} ${request.headers.get("last-event-id") ?? ""}`.trim());
    },
    onResponse: ({ response }) => {
      if (!response.body || asked.length > streams) return;
      const first = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk);
          controller.terminate();
        },
      });
      return new Response(response.body.pipeThrough(first), response);
    },
  });
  return { ace, asked };
}

const { ace, asked } = breaking(1);
const events: ChatEvent[] = [];
for await (const event of chat(ace, { message: "What is 1/3 + 1/4?" })) events.push(event);
assert.deepEqual(events.map((event) => event.id), events.map((_, place) => String(place + 1)));
assert.equal(events.at(-1)?.event, "done");
assert.match(asked[1] ?? "", /^\/api\/ai\/chat\/stream\/\{stream_id\} \d+$/);
console.log("a broken connection is resumed, nothing is missing and nothing comes twice:", asked.length, "requests");

const ended = new AbortController();
await assert.rejects(async () => {
  for await (const _ of chat(connect(url, process.env["ADA"]), { message: "What is 1/5 + 1/4?" }, ended.signal))
    ended.abort();
}, { name: "AbortError" });
console.log("a signal ends it");

const refused: unknown = await answered(connect(url, "no token").GET("/api/playbook")).catch((error) => error);
assert.ok(refused instanceof AceError && refused.status === 401);
await assert.rejects(async () => {
  for await (const _ of chat(ace, { message: " " })) assert.fail("a blank message was answered");
}, { name: "AceError", status: 422, code: "invalid" });
console.log("refusals are errors of their own kind");

/** It is compiled and never called. */
export function refusedByTypes(event: ChatEvent): void {
  // @ts-expect-error  a message is needed
  void ace.POST("/api/ai/chat", { body: {} });
  // @ts-expect-error  there is no such mode
  void ace.POST("/api/ai/chat", { body: { message: "Hello", mode: "fast" } });
  // @ts-expect-error  there is no such route
  void ace.GET("/api/playboks");
  // @ts-expect-error  a bullet is pinned or it is not
  void ace.PATCH("/api/playbook/{bullet_id}", { params: { path: { bullet_id: "b" } }, body: { pinned: "yes" } });
  // @ts-expect-error  only a result has an answer
  if (event.event === "token") void event.data.answer;
}
