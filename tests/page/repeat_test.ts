import { assertEquals } from "@std/assert";
import { Repeat } from "../../src/page/live/repeat.ts";

/** A clock that a test moves on. */
class Hand {
  now = 0;
  done: number[] = [];
  #timers: { at: number; work: () => void }[] = [];
  readonly repeat = new Repeat(
    {
      now: () => this.now,
      later: (work, ms) => {
        const timer = { at: this.now + ms, work };
        this.#timers.push(timer);
        return () => this.#timers = this.#timers.filter((each) => each !== timer);
      },
    },
    () => this.done.push(this.now),
    30,
  );

  moveTo(now: number): void {
    for (;;) {
      const [next] = this.#timers.toSorted((a, b) => a.at - b.at);
      if (!next || next.at > now) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.now = next.at;
      next.work();
    }
    this.now = now;
  }
}

Deno.test("what is repeated begins when it is looked at, and goes on in its step", () => {
  const hand = new Hand();
  hand.moveTo(100);
  assertEquals(hand.done, []);
  hand.repeat.resume();
  hand.repeat.resume();
  hand.moveTo(170);
  assertEquals(hand.done, [100, 130, 160]);
});

Deno.test("while nobody looks nothing is done; after a long while at once, after a short one when it is due", () => {
  const hand = new Hand();
  hand.repeat.resume();
  hand.repeat.pause();
  hand.moveTo(500);
  assertEquals(hand.done, [0]);
  hand.repeat.resume();
  hand.moveTo(505);
  hand.repeat.pause();
  hand.moveTo(510);
  hand.repeat.resume();
  hand.moveTo(540);
  assertEquals(hand.done, [0, 500, 530]);
});
