import { kubeContract } from "../../tests/contract/kube/suite.ts";
import { sharedKube } from "../support/kube.ts";

kubeContract("kube-apiserver", async () => {
  const kube = await sharedKube();
  return {
    fetch: (path, init) => kube.fetch(path, init),
    forget: () => Promise.resolve(), // version 1 is older than every watch cache by itself
    close: () => Promise.resolve(kube.close()),
  };
}, true);
