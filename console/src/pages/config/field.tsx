// field.tsx - one option of a part as a field of a form, and how its value is written.
import type { ConnectorOption } from "../../types";
import { scalar } from "./yaml";

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

/** Of these the user writes YAML; of `step` a form does. */
const RAW = ["map", "step", "number", "boolean"];

/** In these a comma may be a part of one value: the next value follows behind a space. */
const WITH_COMMAS = ["schedule or time of day"];

function separator(o: ConnectorOption): RegExp {
  return WITH_COMMAS.includes(o.type) ? /,\s+/ : /,/;
}

export function written(o: ConnectorOption, value: string): string {
  if (RAW.includes(o.type)) return value;
  if (!o.list || !separator(o).test(value)) return scalar(value);
  return `[${value
    .split(separator(o))
    .map((v) => scalar(v.trim()))
    .join(", ")}]`;
}

interface Props {
  option: ConnectorOption;
  value: string;
  onChange: (value: string) => void;
}

export function Field({ option: o, value, onChange }: Props) {
  const words = o.type === "boolean" ? ["true", "false"] : o.type === "word" ? o.values : [];
  const several = WITH_COMMAS.includes(o.type) ? "Separate several values with a comma and a space." : "Separate several values with commas.";
  const hint = [o.about, o.form, o.list ? several : ""].filter((t) => t).join("\n");
  return (
    <label title={hint}>
      <span>
        {o.name}
        {o.required && <b class="bad"> required</b>}
        {o.oneOf && <span> one of these</span>}
      </span>
      {words.length > 0 ? (
        <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
          <option value="">{o.default === null ? "" : `${o.default} (default)`}</option>
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
