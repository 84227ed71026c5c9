// form.tsx - a new part of the configuration by a form, drawn from the table of its options.
import { useState } from "preact/hooks";
import { go } from "../../base/router";
import type { Connector, ConnectorOption } from "../../types";
import { FormDialog } from "../../ui/dialog";
import { Prose } from "../../ui/prose";
import { tell } from "../../ui/toast";
import { draft } from "./draft";
import { insert, listPart, namedPart, nest, scalar } from "./yaml";

/** Where a part of this role stands. */
export const SECTIONS: Record<string, string> = { gateway: "gateways", endpoint: "endpoints", system: "systems", type: "types", route: "routes" };

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
  return c.options.filter((o) => o.name !== "kind" && o.name !== "name" && !o.name.endsWith(".*") && (!below(o) || o.values.length > 0));
}

/** An option of a route that is a condition or the steps is written as YAML. */
function isRaw(o: ConnectorOption): boolean {
  return o.type === "map" || o.type.includes("steps");
}

function written(o: ConnectorOption, value: string): string {
  if (isRaw(o) || o.type === "number" || o.type === "boolean") return value;
  if (!o.list || !value.includes(",")) return scalar(value);
  return `[${value.split(",").map((v) => scalar(v.trim())).join(", ")}]`;
}

/** How values of some types look. */
const EXAMPLES: Record<string, string> = {
  expression: "xml:/Order/Buyer/@id",
  rate: "50/s",
  duration: "30s",
  size: "64 MiB",
  URL: "https://host/path",
  path: "./folder",
  secret: "secret:NAME",
};

function Field({ option: o, value, onChange }: { option: ConnectorOption; value: string; onChange: (value: string) => void }) {
  const words = o.type === "boolean" ? ["true", "false"] : o.type === "word" ? o.values : [];
  const hint = [o.about, o.form, o.list ? "Several with commas between." : ""].filter((t) => t).join(" ");
  return (
    <label title={hint}>
      <span>
        {o.name}
        {o.required && <b class="bad"> needed</b>}
        {o.oneOf && <span> one of these</span>}
      </span>
      {words.length > 0 ? (
        <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
          <option value="">{o.default === null ? "" : `${o.default} (unless said)`}</option>
          {words.map((w) => (
            <option key={w}>{w}</option>
          ))}
        </select>
      ) : (
        <input
          value={value}
          placeholder={o.default ?? EXAMPLES[o.type] ?? (o.values.length > 0 ? o.values.join(", ") : o.type)}
          spellcheck={false}
          onInput={(e) => onChange(e.currentTarget.value)}
        />
      )}
    </label>
  );
}

export function PartDialog({ role, connectors, base, text, onClose }: Props) {
  const kinds = connectors.filter((c) => c.role === role && c.runs);
  const [kind, setKind] = useState(kinds[0]?.kind ?? "");
  const [name, setName] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const connector = kinds.find((c) => c.kind === kind);
  if (!connector) return null;
  const fields = fieldsOf(connector);
  const [first, more] = [fields.filter((o) => o.required || o.oneOf || isFirst(o)), fields.filter((o) => !o.required && !o.oneOf && !isFirst(o))];
  const field = (o: ConnectorOption) => (
    <Field key={o.name} option={o} value={values[o.name] ?? ""} onChange={(v) => setValues({ ...values, [o.name]: v })} />
  );
  const submit = async () => {
    const given = fields.flatMap((o): [string, string][] => (values[o.name] ? [[o.name, written(o, values[o.name]!)]] : []));
    const head: [string, string][] = role === "route" ? [["name", scalar(name)]] : kinds.length > 1 ? [["kind", kind]] : [];
    const tree = nest([...head, ...given]);
    const result = insert(text, SECTIONS[role]!, role === "route" ? listPart(tree) : namedPart(name, tree));
    draft.set({ base, text: result.text });
    tell("Added to your draft. Look at it, then apply it.");
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

/** What most people fill in, though it is not needed. */
function isFirst(o: ConnectorOption): boolean {
  return ["title", "system", "auth", "ids", "when", "do", "extract.sender", "extract.receiver", "extract.type"].includes(o.name);
}
