import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../../src/core/random.ts";
import { createEmbeddedApi } from "../../src/embedded/api.ts";
import { kubeContract } from "../contract/kube/suite.ts";

kubeContract("The embedded API", () => {
  const api = createEmbeddedApi({ clock: systemClock, random: seededRandom(7) });
  return Promise.resolve({
    fetch: (path, init) => api.fetch(new Request(`http://embedded${path}`, init)),
    forget: () => Promise.resolve(api.store.compact()),
    close: () => Promise.resolve(api.close()),
  });
});
