// copy.tsx - a value with a button that puts it into the clipboard.
import { short } from "../base/format";
import { Icon } from "./icon";
import { tell } from "./toast";

export function Copy({ text, brief }: { text: string; brief?: boolean }) {
  const copy = () =>
    navigator.clipboard
      ? navigator.clipboard.writeText(text).then(
          () => tell("Copied."),
          () => tell("The browser refused to copy.", "bad"),
        )
      : tell("Browsers allow copying only over TLS or on this machine.", "bad");
  return (
    <span class="mono">
      {brief ? short(text) : text}{" "}
      <button class="bare small" aria-label={`Copy ${text}`} title="Copy" onClick={copy}>
        <Icon name="copy" />
      </button>
    </span>
  );
}
