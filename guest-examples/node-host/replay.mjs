// A recorded run once more: the answers are the recorded ones, and what the gene asks is told.
// Rules: abi/vectors/README.md, "Replaying".

import { Ending, Run, runGene } from "./host.mjs";
import { Refusal, refusals } from "./request.mjs";

/** Answer the message `replay`. */
export function replay({ module, input, limits, logicalMs, context, events }) {
  const run = new Replay(events, { hostTimeMs: limits.hostTimeMs, started: logicalMs, context });
  const { output, ...ending } = runGene(bytes(module), bytes(input), run);
  return {
    ...ending,
    ...(output === undefined ? {} : { output: output.toString("base64") }),
    calls: run.calls,
    answers: run.answers,
    log: run.log,
    memoryBytes: run.memoryBytes,
  };
}

const bytes = (text) => Buffer.from(text, "base64");

class Replay extends Run {
  /** What the gene asked, as far as it was answered, and what it asked last. */
  calls = [];
  #events;
  #context;

  constructor(events, { context, ...setting }) {
    super(setting);
    this.#events = events;
    this.#context = context;
  }

  context() {
    return this.#context;
  }

  /** A caller that was refused then is refused now, before its request is looked at. */
  guard(call) {
    const event = this.#events[this.calls.length];
    if (event?.early && event.refusal !== null && event.function === `rotifer.${call}`) {
      this.calls.push({ function: event.function, request: null, outCap: null, result: event.result });
      throw refused(event.refusal);
    }
  }

  respond(call, request, room) {
    const asked = { function: `rotifer.${call}`, request: request.toString("base64"), outCap: room, result: null };
    const event = this.#take(asked);
    asked.result = event.result;
    if (event.refusal !== null) throw refused(event.refusal);
    const response = bytes(event.response);
    asked.result = response.length <= room ? response.length : -1;
    if (response.length <= room) return response;
    throw refusals.tooSmall(response.length, room);
  }

  remainingBudget() {
    return BigInt(this.#take({ function: "rotifer.remainingBudget", arguments: [] }).result);
  }

  /** The answer to the next call; there is none when the recorded one was another, or the run ended in it. */
  #take(asked) {
    const event = this.#events[this.calls.length];
    this.calls.push(asked);
    if (event?.function !== asked.function || event.early || event.result === null) {
      throw new Ending("stopped", "REPLAY_STOPPED", "no answer is recorded");
    }
    return event;
  }
}

const refused = ({ result, code, message }) => new Refusal(result, code, message);
