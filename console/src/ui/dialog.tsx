// dialog.tsx - modal dialogs.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { messageOf } from "../base/ask";
import { Icon } from "./icon";
import { Say } from "./say";

interface DialogProps {
  title: string;
  large?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, large, onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const box = ref.current!;
    box.showModal();
    return () => box.close();
  }, []);
  return (
    <dialog ref={ref} class={large ? "large" : ""} aria-labelledby={id} onCancel={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <button class="bare small" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface FormProps extends DialogProps {
  /** The word on the button. */
  action: string;
  danger?: boolean;
  disabled?: boolean;
  /** Resolves when done; an error is shown and the dialog stays open. */
  onSubmit: () => Promise<void>;
}

/** A dialog with a form. */
export function FormDialog({ action, danger, disabled, onSubmit, children, ...dialog }: FormProps) {
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onSubmit();
    } catch (problem) {
      setError(messageOf(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog {...dialog}>
      <form onSubmit={submit}>
        <div class="body">
          {error && <Say tone="bad">{error}</Say>}
          {children}
        </div>
        <footer>
          <button type="button" onClick={dialog.onClose}>
            Close
          </button>
          <button type="submit" class={danger ? "danger" : "first"} disabled={busy || disabled}>
            {action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

interface WordProps {
  title: string;
  label: string;
  action: string;
  word?: string;
  onClose: () => void;
  onWord: (word: string) => void;
}

/** Asks for one word. */
export function WordDialog({ title, label, action, word = "", onClose, onWord }: WordProps) {
  const [text, setText] = useState(word);
  const submit = async () => {
    onClose();
    onWord(text);
  };
  return (
    <FormDialog title={title} action={action} disabled={text.trim() === ""} onClose={onClose} onSubmit={submit}>
      <label>
        {label}
        <input value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
    </FormDialog>
  );
}
