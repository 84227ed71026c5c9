// steps.tsx - the steps of a route: services, one after the other, each with a form of its own.
import { useState } from "preact/hooks";
import type { Connector } from "../../types";
import { Icon } from "../../ui/icon";
import { Field, written } from "./field";

interface Props {
  services: Connector[];
  /** Each as it is written: replace: { find: a, with: b } */
  steps: string[];
  onChange: (steps: string[]) => void;
}

/** As the value of `do`. */
export function writtenSteps(steps: string[]): string {
  return steps.length === 0 ? "" : `[ ${steps.map((s) => `{ ${s} }`).join(", ")} ]`;
}

export function Steps({ services, steps, onChange }: Props) {
  const [kind, setKind] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const service = services.find((s) => s.kind === kind);
  const choose = (next: string) => {
    setKind(next);
    setValues({});
  };
  const add = () => {
    const options = service!.options.flatMap((o) => (values[o.name] ? [`${o.name}: ${written(o, values[o.name]!)}`] : []));
    onChange([...steps, `${kind}: { ${options.join(", ")} }`]);
    choose("");
  };
  const ready = service?.options.every((o) => !o.required || values[o.name]) ?? false;
  return (
    <fieldset>
      <legend>
        Steps <b class="bad">required</b>
      </legend>
      {steps.map((step, i) => (
        <div class="row" key={i}>
          <code>{step}</code>
          <button type="button" class="bare small" aria-label={`Remove step ${i + 1}`} onClick={() => onChange(steps.filter((_, j) => j !== i))}>
            <Icon name="close" />
          </button>
        </div>
      ))}
      <div class="fields">
        <label>
          {steps.length === 0 ? "First step" : "Next step"}
          <select value={kind} onChange={(e) => choose(e.currentTarget.value)}>
            <option value="" />
            {services.map((s) => (
              <option key={s.kind} value={s.kind}>
                {s.kind}: {s.summary}
              </option>
            ))}
          </select>
        </label>
        {service?.options
          .filter((o) => !o.name.endsWith(".*"))
          .map((o) => <Field key={o.name} option={o} value={values[o.name] ?? ""} onChange={(v) => setValues({ ...values, [o.name]: v })} />)}
      </div>
      {service && (
        <div class="row">
          <button type="button" disabled={!ready} onClick={add}>
            Add the step
          </button>
        </div>
      )}
    </fieldset>
  );
}
