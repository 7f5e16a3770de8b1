/** Puts text on the clipboard. @module */
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { Icon } from "./icons.tsx";
import { announcement } from "./live/model.ts";

/** How long the button says that it worked, in milliseconds. */
const THANKS_MS = 2_000;

/** What {@linkcode CopyButton} takes. */
export interface CopyButtonProps {
  readonly text: () => string;
  readonly what: string;
}

/** A button that copies. */
export function CopyButton({ text, what }: CopyButtonProps): JSX.Element {
  const [said, setSaid] = useState<string | undefined>(undefined);
  const onClick = async () => {
    const worked = await copy(text());
    announcement.value = worked ? "Copied" : "The browser did not allow copying";
    setSaid(worked ? "Copied" : "Not allowed");
    setTimeout(() => setSaid(undefined), THANKS_MS);
  };
  return (
    <button type="button" class="quiet copy" onClick={() => void onClick()}>
      <Icon name="copy" />
      {said ?? what}
    </button>
  );
}

/** The clipboard's own interface needs a secure origin; a port-forward to another name is none. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const worked = document.execCommand("copy");
    area.remove();
    return worked;
  }
}
