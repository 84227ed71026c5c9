// choose_roles.tsx - roles as check boxes.
import * as api from "../../api";
import { useQuery } from "../../base/use_query";

export function ChooseRoles({ chosen, onChange }: { chosen: string[]; onChange: (roles: string[]) => void }) {
  const { data } = useQuery(api.roles, {});
  const toggle = (name: string) => onChange(chosen.includes(name) ? chosen.filter((r) => r !== name) : [...chosen, name]);
  return (
    <fieldset>
      <legend>Roles</legend>
      {(data?.roles ?? []).map((r) => (
        <label class="check" key={r.name}>
          <input type="checkbox" checked={chosen.includes(r.name)} onChange={() => toggle(r.name)} />
          <span>
            {r.name} <span class="quiet">{r.title}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
