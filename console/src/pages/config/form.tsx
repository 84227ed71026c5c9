// form.tsx - a new part of the configuration by a form, drawn from the table of its options.
import { useState } from "preact/hooks";
import { go } from "../../base/router";
import type { Connector, ConnectorOption } from "../../types";
import { FormDialog } from "../../ui/dialog";
import { Prose } from "../../ui/prose";
import { tell } from "../../ui/toast";
import { draft } from "./draft";
import { Field, written } from "./field";
import { Steps, writtenSteps } from "./steps";
import { insert, listPart, namedPart, nest, scalar } from "./yaml";

/** Where a part of this role stands. */
export const SECTIONS: Record<string, string> = { gateway: "gateways", endpoint: "endpoints", job: "jobs", system: "systems", type: "types", route: "routes" };

interface Props {
  role: string;
  connectors: Connector[];
  base: number;
  text: string;
  onClose: () => void;
}

/** What a form can ask for: leaves, and maps that have none of their own. */
function fieldsOf(c: Connector): ConnectorOption[] {
  const below = (o: ConnectorOption) => c.options.some((p) => p.name.startsWith(`${o.name}.`) && !p.name.endsWith(".*"));
  return c.options.filter((o) => o.name !== "kind" && !(c.role === "route" && o.name === "name") && o.type !== "step" && !o.name.endsWith(".*") && (!below(o) || o.values.length > 0));
}

export function PartDialog({ role, connectors, base, text, onClose }: Props) {
  const kinds = connectors.filter((c) => c.role === role && c.runs);
  const [kind, setKind] = useState(kinds[0]?.kind ?? "");
  const [name, setName] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const [steps, setSteps] = useState<string[]>([]);
  const connector = kinds.find((c) => c.kind === kind);
  if (!connector) return null;
  const fields = fieldsOf(connector);
  const services = connectors.filter((c) => c.role === "step" && c.runs);
  const [first, more] = [fields.filter((o) => o.required || o.oneOf || isFirst(o)), fields.filter((o) => !o.required && !o.oneOf && !isFirst(o))];
  const field = (o: ConnectorOption) => (
    <Field key={o.name} option={o} value={values[o.name] ?? ""} onChange={(v) => setValues({ ...values, [o.name]: v })} />
  );
  const submit = async () => {
    const given = fields.flatMap((o): [string, string][] => (values[o.name] ? [[o.name, written(o, values[o.name]!)]] : []));
    if (steps.length > 0) given.push(["do", writtenSteps(steps)]);
    const head: [string, string][] = role === "route" ? [["name", scalar(name)]] : kinds.length > 1 ? [["kind", kind]] : [];
    const tree = nest([...head, ...given]);
    const result = insert(text, SECTIONS[role]!, role === "route" ? listPart(tree) : namedPart(name, tree));
    draft.set({ base, text: result.text });
    tell("Added to your draft. Review it, then apply it.");
    onClose();
    go(`/config/text?line=${result.line}`);
  };
  return (
    <FormDialog title={`Add ${role === "endpoint" ? "an" : "a"} ${role}`} action="Add to the draft" large disabled={name.trim() === ""} onClose={onClose} onSubmit={submit}>
      <div class="fields">
        {kinds.length > 1 && (
          <label>
            Kind
            <select value={kind} onChange={(e) => setKind(e.currentTarget.value)}>
              {kinds.map((c) => (
                <option key={c.kind}>{c.kind}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          Name
          <input value={name} required spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        {first.map(field)}
      </div>
      {role === "route" && <Steps services={services} steps={steps} onChange={setSteps} />}
      <p class="quiet">
        <Prose text={connector.summary} />
      </p>
      {more.length > 0 && (
        <details>
          <summary>{more.length} more options</summary>
          <div class="fields">{more.map(field)}</div>
        </details>
      )}
    </FormDialog>
  );
}

/** Optional fields that most people fill in. */
function isFirst(o: ConnectorOption): boolean {
  return ["title", "system", "auth", "ids", "zone", "when.sender", "when.receiver", "when.type", "extract.sender", "extract.receiver", "extract.type"].includes(o.name);
}
