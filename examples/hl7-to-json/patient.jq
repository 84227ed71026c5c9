# One object of an admission or discharge.  Item 3 of PID is PID-3: docs/formats.md.
def segment($name): .segments[] | select(.[0] == $name);
def date: if . == null then null else "\(.[0:4])-\(.[4:6])-\(.[6:8])" end;

(segment("MSH")) as $msh | (segment("PID")) as $pid | (segment("PV1")) as $pv1
| {
    event: $msh[9][0][1],
    patient: $pid[3][0][0],
    name: { family: $pid[5][0][0], given: $pid[5][0][1] },
    born: ($pid[7][0][0] | date),
    ward: $pv1[3][0][0],
    room: $pv1[3][0][1]
  }
