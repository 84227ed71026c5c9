# One object of a result, with a value for each OBX.
def segments($name): .segments[] | select(.[0] == $name);

{
  patient: (segments("PID") | .[3][0][0]),
  order: (segments("OBR") | .[3][0][0]),
  values: [segments("OBX") | { code: .[3][0][0], name: .[3][0][1], value: .[5][0][0], unit: .[6][0][0] }]
}
