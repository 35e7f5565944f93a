/** `POST /api/ai/chat` of a Next.js app: ace_graph's answer, streamed to the browser.
 *
 * The browser sends the access token of its login; ace_graph checks it (ACE_JWKS, or ACE_JWT_SECRET) and
 * takes the learner from it. `chatEvents(response.body)` reads the events in the browser.
 */

import { AceError, answered, connect, type Schemas } from "ace-graph-client";

export const dynamic = "force-dynamic"; // no answer is kept for another request

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };

export async function POST(request: Request): Promise<Response> {
  const token = request.headers.get("authorization")?.replace(/^Bearer /i, "");
  if (!token) return Response.json({ error: "log in first", code: "unauthorized" }, { status: 401 });
  const ace = connect(process.env["BACKEND_URL"] ?? "http://127.0.0.1:8000", token);
  const { message, conversationId = null } = (await request.json()) as Schemas["ChatRequest"];
  try {
    const call = ace.POST("/api/ai/chat/stream", {
      body: { message, conversationId },
      parseAs: "stream",
      signal: request.signal, // whoever hangs up stops listening; the turn goes on
    });
    return new Response(await answered(call), { headers: HEADERS });
  } catch (error) {
    if (!(error instanceof AceError)) throw error;
    const { message: sentence, code, requestId, status } = error;
    return Response.json({ error: sentence, code, requestId }, { status });
  }
}
