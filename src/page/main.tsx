/** Where the page begins. @module */
import { render } from "preact";
import { App } from "./app.tsx";
import { start } from "./live/browser.ts";
import { restoreTheme } from "./theme.ts";

const root = document.getElementById("root");
if (root) {
  restoreTheme();
  start();
  render(<App />, root);
}
