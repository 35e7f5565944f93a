/** Two learners and a server: a question, a streamed answer, what was learned, a proposal, an error.
 *
 *     BACKEND_URL=http://127.0.0.1:8000 ADA=TOKEN BEN=TOKEN npm run lesson
 */

import assert from "node:assert/strict";

import { AceError, answered, chat, chatEvents, connect } from "ace-graph-client";

import { POST } from "./next/app/api/ai/chat/route.js";

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}: the first lines of this file say to what`);
  return value;
}

const ada = connect(variable("BACKEND_URL"), variable("ADA"));
const ben = connect(variable("BACKEND_URL"), variable("BEN"));

const said = await answered(
  ada.POST("/api/ai/chat", { body: { message: "My name is Ada. What is 1/2 + 1/3?", conversationId: "lesson-1" } }),
);
assert.match(said.answer, /5\/6/);
console.log("chat:", said.mode, said.answer.split("\n").at(-1));

const names: string[] = [];
let text = "";
for await (const event of chat(ada, { message: "What is 7/8 + 1/2?", conversationId: "lesson-1" })) {
  if (names.at(-1) !== event.event) names.push(event.event);
  if (event.event === "token") text += event.data.text;
  if (event.event === "result") assert.equal(event.data.answer, text);
}
console.log("stream:", names.join(" "));

const headers = { authorization: `Bearer ${variable("ADA")}` };
const body = JSON.stringify({ message: "That's wrong, it should be 1 3/8.", conversationId: "lesson-1" });
const routed = await POST(new Request("http://localhost/api/ai/chat", { method: "POST", headers, body }));
for await (const event of chatEvents(routed.body)) {
  if (event.event === "result") console.log("route handler:", event.data.metadata.scratch.ace_delta);
}
assert.equal(routed.headers.get("content-type"), "text/event-stream");

const memory = await answered(ada.GET("/api/playbook"));
assert.ok(memory.bullets.length > 0);
console.log("bullets:");
for (const bullet of memory.bullets) console.log(`  [${bullet.section}] ${bullet.content}`);

const created = await answered(ada.POST("/api/playbooks", { body: { name: "fractions" } }));
const path = { playbook_id: created.playbookId };
const contributor = { kind: "user", name: "ben", relation: "contributor" } as const;
await answered(ada.POST("/api/playbooks/{playbook_id}/grants", { params: { path }, body: contributor }));
const found = await answered(
  ben.POST("/api/playbook", { body: { content: "Find the least common denominator before adding fractions" } }),
);
const made = await answered(
  ben.POST("/api/playbooks/{playbook_id}/proposals", { params: { path }, body: { bullets: found.added } }),
);
console.log("proposal:", made.by, made.state, made.texts);
const accepted = await answered(
  ada.POST("/api/playbooks/{playbook_id}/proposals/{proposal_id}/accept", {
    params: { path: { ...path, proposal_id: made.proposalId } },
    body: {},
  }),
);
assert.equal(accepted.bullets.length, 1);
console.log("accepted: version", accepted.label);

try {
  const params = { path: { conversation_id: "nobody-knows-it" } };
  await answered(ben.GET("/api/conversations/{conversation_id}", { params }));
  assert.fail("a conversation that is not there was read");
} catch (error) {
  if (!(error instanceof AceError)) throw error;
  assert.deepEqual([error.status, error.code], [404, "not_found"]);
  console.log("error:", error.status, error.code, error.message);
}
