/**
 * A TCP proxy on loopback whose connections can be held or broken, as networks do it.
 *
 * @module
 */

/** One connection and its continuation. */
class Pipe {
  #hold: PromiseWithResolvers<void> | undefined;

  constructor(readonly near: Deno.Conn, readonly far: Deno.Conn) {}

  /** Carries bytes both ways until one side ends. */
  async run(): Promise<void> {
    await Promise.race([this.#carry(this.near, this.far), this.#carry(this.far, this.near)]);
    this.end();
  }

  /** Holds every byte back from now on; the connection stays open. */
  hold(): void {
    this.#hold ??= Promise.withResolvers();
  }

  /** Lets go of what was held. */
  release(): void {
    this.#hold?.resolve();
    this.#hold = undefined;
  }

  /** Breaks the connection on both sides. */
  end(): void {
    this.release();
    for (const side of [this.near, this.far]) {
      try {
        side.close();
      } catch (error) {
        if (!(error instanceof Deno.errors.BadResource)) throw error; // it was closed before
      }
    }
  }

  async #carry(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const n = await from.read(buffer);
        if (n === null) return;
        while (this.#hold !== undefined) await this.#hold.promise;
        for (let at = 0; at < n;) at += await to.write(buffer.subarray(at, n));
      }
    } catch {
      // A reset by either end, or by us: the pipe ends, and the ends learn of it.
    }
  }
}

/** A proxy that forwards one port of its own to another. */
export class TcpProxy {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #pipes = new Set<Pipe>();
  readonly #target: number;
  #accepting: Promise<void>;

  constructor(target: number) {
    this.#target = target;
    this.#accepting = this.#accept();
  }

  /** Where it listens. */
  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port;
  }

  /** Connections that are open. */
  get open(): number {
    return this.#pipes.size;
  }

  /** Holds every byte of the connections that are open now; later ones pass. The result lets them go on. */
  hold(): () => void {
    const held = [...this.#pipes];
    for (const pipe of held) pipe.hold();
    return () => held.forEach((pipe) => pipe.release());
  }

  /** Breaks every open connection. */
  reset(): void {
    for (const pipe of [...this.#pipes]) pipe.end();
  }

  /** Stops listening and breaks what is open. */
  async close(): Promise<void> {
    this.#listener.close();
    this.reset();
    await this.#accepting;
  }

  async #accept(): Promise<void> {
    for await (const near of this.#listener) void this.#connect(near);
  }

  async #connect(near: Deno.Conn): Promise<void> {
    let far: Deno.Conn;
    try {
      far = await Deno.connect({ hostname: "127.0.0.1", port: this.#target });
    } catch {
      near.close(); // nobody listens there: the caller sees a connection that breaks
      return;
    }
    const pipe = new Pipe(near, far);
    this.#pipes.add(pipe);
    await pipe.run();
    this.#pipes.delete(pipe);
  }
}
