// Steps of routes as sentences.

const ADVERBS = { slight: "slightly ", sharp: "sharply " };

// "slight right" as "slightly right".
function towards(modifier) {
  const [, how, side] = (modifier ?? "").match(/^(?:(slight|sharp) )?(left|right)$/) ?? [];
  return side ? `${ADVERBS[how] ?? ""}${side}` : "";
}

const sideOf = (modifier) => (modifier ?? "").match(/left|right/)?.[0] ?? "";

// Steps with the lines of each; to enter and to leave a roundabout is one.
export function joined(steps) {
  const found = [];
  for (const step of steps) {
    const before = found.at(-1);
    if (before && /^exit (roundabout|rotary)$/.test(step.maneuver.type)) {
      before.distance += step.distance;
      before.geometries.push(step.geometry);
      before.name = step.name;
      before.ref = step.ref;
    } else found.push({ ...step, geometries: [step.geometry] });
  }
  return found;
}

export function instruction(step, place) {
  const { type, modifier, exit } = step.maneuver, street = step.name || step.ref, side = sideOf(modifier);
  const toward = step.destinations ? ` toward ${step.destinations}` : "";
  const onto = street ? ` onto ${street}` : toward, turn = towards(modifier);
  const number = step.exits ? ` ${step.exits}` : "";
  if (type === "depart") return `Start${street ? ` along ${street}` : ""}`;
  if (type === "arrive") return `Arrive at ${place}${side ? `, on the ${side}` : ""}`;
  if (type.startsWith("exit ")) return `Leave the roundabout${onto}`; // the route begins on it
  if (type === "roundabout turn") return turn ? `Turn ${turn} at the roundabout${onto}` : `Go straight on at the roundabout${onto}`;
  if (type === "roundabout" || type === "rotary") {
    const name = type === "rotary" && step.rotary_name ? ` ${step.rotary_name}` : "";
    return `${exit ? `Take exit ${exit} of` : "Enter"} the roundabout${name}${onto}`;
  }
  if (type === "merge") return `Merge${side ? ` ${side}` : ""}${onto}`;
  if (type === "fork") return `Keep ${side || "straight on"}${onto}`;
  if (type === "on ramp") return `Take the ramp${side ? ` on the ${side}` : ""}${onto}`;
  if (type === "off ramp") return `Take ${number ? `exit${number}` : "the exit"}${side ? ` on the ${side}` : ""}${onto}`;
  if (type === "end of road" && turn) return `Turn ${turn} at the end of the road${onto}`;
  if (modifier === "uturn") return `Make a U-turn${onto}`;
  if (type === "new name" || type === "notification" || !turn) return `Continue${onto}`;
  if (type === "continue") return `Turn ${turn} to stay on ${street || "the road"}`;
  return `Turn ${turn}${onto}`;
}
